// Tests of the image: it contains every file and package that the product's programs import.

import { globSync } from 'node:fs';
import { dirname, join, matchesGlob, normalize } from 'node:path';
import { isBuiltin } from 'node:module';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { nodeArguments, nodeEnvironment } from '#lib/process/launch-settings.ts';
import { textOf } from './deployment-files.ts';

const rootDir = fileURLToPath(new URL('../..', import.meta.url));
const dockerfile = textOf('Dockerfile');
const stage = (name: string) => dockerfile.split(/^FROM /m).find((text) => text.includes(` AS ${name}\n`)) ?? '';

/**
 * Returns true when .dockerignore excludes a file: the last pattern that matches the file or one of its folders
 * decides.
 */
function isIgnored(file: string): boolean {
  const segments = file.split('/');
  const paths = segments.map((_segment, depth) => segments.slice(0, depth + 1).join('/'));
  const fitting = ignored.findLast((line) => paths.some((path) => matchesGlob(path, line.replace(/^!/, ''))));
  return fitting !== undefined && !fitting.startsWith('!');
}

/**
 * Returns the entries with all the product's files that they import, directly or indirectly, and all imported packages.
 */
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
      else if (specifier.startsWith('#')) visit(specifier.slice(1));
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
const programs = ['gateway/main.ts', 'workers/main.ts', 'jobs/prune/main.ts', 'cli/main.ts', ...plugins];
const { dependencies } = JSON.parse(textOf('package.json')) as { dependencies: Record<string, string> };
const ignored = textOf('.dockerignore')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

describe('the image', () => {
  const closure = closureOf(programs);

  it('has every file that a program imports', () => {
    expect(closure.files.size).toBeGreaterThan(200);
    expect([...closure.files].filter(isIgnored)).toEqual([]);
  });

  it('needs no development dependency', () => {
    expect([...closure.packages].filter((name) => dependencies[name] === undefined)).toEqual([]);
  });

  it('precompiles everything that the programs import', () => {
    const named = [...textOf('deploy/image/compile.mjs').matchAll(/^ {2}'([\w/.-]+\.ts)',$/gm)].map(
      ([, file = '']) => file,
    );
    const compiled = closureOf([...named, ...plugins]);
    expect([...closure.files].filter((file) => !compiled.files.has(file) && !programs.includes(file))).toEqual([]);
  });

  it('has the definitions, the gateway configuration and the other files that the programs read', () => {
    const folders = globSync('{workflows,event-handlers,plugins,gateway}/**/*.*', { cwd: rootDir });
    const read = [...folders, 'gateway.config.yml', 'package.json'].filter((file) => !file.endsWith('.md'));
    expect(read.length).toBeGreaterThan(100);
    expect(read.filter(isIgnored)).toEqual([]);
  });

  it('contains the embedded stack only in the target demo', () => {
    expect([...closure.files].filter((file) => file.startsWith('dev/'))).toEqual([]);
    expect(stage('sources')).toMatch(/^RUN mv dev \/embedded-stack/m);
    expect(stage('product')).not.toContain('embedded-stack');
    expect(stage('demo')).toContain('COPY --from=sources /embedded-stack dev\n');
  });

  it('runs Node with the same arguments and variables as the stack', () => {
    const entrypoint = /^ENTRYPOINT (.+)$/m.exec(stage('product'))?.[1] ?? '';
    expect(JSON.parse(entrypoint)).toEqual(['node', ...nodeArguments]);
    const variables = Object.entries(nodeEnvironment).map(([name, value]) => `ENV ${name}=${value}\n`);
    for (const line of variables) expect(stage('product')).toContain(line);
  });

  it('the stand-ins need no development dependency either', () => {
    const { packages } = closureOf(['dev/back-ends/main.ts']);
    expect([...packages].filter((name) => dependencies[name] === undefined)).toEqual([]);
  });

  it.each([
    '.env',
    '.env.production',
    '.git/config',
    '.run/engine/conductor.db',
    'node_modules/x/index.js',
    'test/x.ts',
  ])('the build context excludes %s', (file) => {
    expect(isIgnored(file)).toBe(true);
  });

  it.each(['config/production.properties', 'deploy/example.env', 'deploy/keycloak/x.json', 'workers/.env', 'x.log'])(
    'the build context excludes %s, which may hold secrets',
    (file) => {
      expect(isIgnored(file)).toBe(true);
    },
  );

  it.each(['.npmrc', 'package-lock.json', 'config/default.properties', 'deploy/image/health.mjs'])(
    'the build context includes %s',
    (file) => {
      expect(isIgnored(file)).toBe(false);
    },
  );

  it('installs packages after their overrides and without scripts, runs as non-root, and has a health check', () => {
    const install = stage('dependencies');
    expect(install.indexOf('COPY gateway/overrides')).toBeLessThan(install.indexOf('npm ci'));
    expect(install).toContain('npm ci --omit=dev --omit=optional --ignore-scripts');
    // The last USER instruction counts.
    expect(
      stage('product')
        .match(/^USER .+$/gm)
        ?.at(-1),
    ).toBe('USER 1000:1000');
    expect(stage('product')).toMatch(/^HEALTHCHECK /m);
  });
});
