// The image holds everything that the product's programs import, and they import nothing that it lacks.

import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { isBuiltin } from 'node:module';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { textOf } from './deployment-files.ts';

const rootDir = fileURLToPath(new URL('../..', import.meta.url));
const dockerfile = textOf('Dockerfile');
const stage = (name: string) => dockerfile.split(/^FROM /m).find((text) => text.includes(` AS ${name}\n`)) ?? '';

/** First words of `COPY a b c target`: what a stage takes from the repository. */
function copied(text: string): string[] {
  return [...text.matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, list = '']) =>
    list.trim().split(/\s+/).slice(0, -1),
  );
}

/** Every file of ours that some files import, themselves included, and every package. */
function closureOf(entries: readonly string[]): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string) => {
    if (files.has(file)) return;
    files.add(file);
    const imports = textOf(file).matchAll(/(?:from\s+|import\s*\(?\s*)'([^']+)'/g);
    for (const [statement, specifier = ''] of imports) {
      if (statement.startsWith('import type')) continue;
      if (specifier.startsWith('.')) visit(normalize(join(dirname(file), specifier)));
      else if (!isBuiltin(specifier)) packages.add(packageOf(specifier));
    }
  };
  for (const entry of entries) visit(entry);
  return { files, packages };
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

const gatewayConfig = parse(textOf('gateway.config.yml')) as { plugins: Record<string, { package: string }> };
const plugins = Object.values(gatewayConfig.plugins).map((plugin) => normalize(plugin.package));
const programs = ['gateway/main.ts', 'workers/main.ts', 'retention/main.ts', 'cli/main.ts', ...plugins];
const { dependencies } = JSON.parse(textOf('package.json')) as { dependencies: Record<string, string> };
const roomOf = (file: string) => file.split('/')[0] as string;
const ignored = textOf('.dockerignore').split('\n');

describe('the image', () => {
  const closure = closureOf(programs);

  it('has every room that a program imports from', () => {
    const rooms = new Set([...closure.files].map(roomOf));
    expect(rooms.size).toBeGreaterThan(8);
    expect([...rooms].filter((room) => !copied(stage('product')).includes(room))).toEqual([]);
  });

  it('needs no development dependency', () => {
    expect([...closure.packages].filter((name) => dependencies[name] === undefined)).toEqual([]);
  });

  it('what is compiled beforehand is all that the programs import', () => {
    const named = [...textOf('deploy/image/compile.mjs').matchAll(/^ {2}'([\w/.-]+\.ts)',$/gm)].map(
      ([, file = '']) => file,
    );
    const compiled = closureOf([...named, ...plugins]);
    expect([...closure.files].filter((file) => !compiled.files.has(file) && !programs.includes(file))).toEqual([]);
  });

  it('has the definitions and the map', () => {
    expect(copied(stage('product'))).toEqual(
      expect.arrayContaining(['workflows', 'event-handlers', 'gateway.config.yml']),
    );
  });

  it('has nothing of the embedded stack but in the target demo', () => {
    expect([...closure.files].filter((file) => roomOf(file) === 'dev')).toEqual([]);
    expect(copied(stage('product'))).not.toContain('dev');
    expect(copied(stage('demo'))).toEqual(['dev']);
  });

  it('the stand-ins need no development dependency either', () => {
    const { packages } = closureOf(['dev/back-ends/main.ts']);
    expect([...packages].filter((name) => dependencies[name] === undefined)).toEqual([]);
  });

  it('everything that is copied exists, and .dockerignore lets it through', () => {
    const sources = ['dependencies', 'product', 'demo'].flatMap((name) => copied(stage(name)));
    for (const source of sources) {
      expect([source, existsSync(join(rootDir, source))]).toEqual([source, true]);
      expect(ignored.some((line) => line.startsWith('!') && `${source}/`.startsWith(`${line.slice(1)}/`))).toBe(true);
    }
  });

  it('the builder gets neither state nor secrets nor history', () => {
    expect(ignored.find((line) => line !== '' && !line.startsWith('#'))).toBe('*');
    for (const hidden of ['.env', '.git', '.run', 'node_modules', 'test']) expect(ignored).not.toContain(`!${hidden}`);
  });

  it('installs the overrides before the packages they replace, runs no script of theirs, and is not root', () => {
    const install = stage('dependencies');
    expect(install.indexOf('COPY gateway/overrides')).toBeLessThan(install.indexOf('npm ci'));
    expect(install).toContain('npm ci --omit=dev --omit=optional --ignore-scripts');
    // The last one counts.
    expect(
      stage('product')
        .match(/^USER .+$/gm)
        ?.at(-1),
    ).toBe('USER 1000:1000');
    expect(stage('product')).toMatch(/^HEALTHCHECK /m);
  });
});
