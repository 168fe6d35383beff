// What the pages name exists: links, scripts, environment variables, metrics, dependencies, task types; examples parse.

import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { keyOfVariable } from '#lib/config/environment.ts';
import { deprecatedMetrics } from '../../gateway/operations/deprecated-metrics.ts';
import { workers } from '../../workers/index.ts';
import { anchorsOf, codeBlocksOf, readPage, readPages, relativeLinksOf, rootDir, rowsOf, sectionOf } from './pages.ts';

const pages = readPages();
const packageJson = JSON.parse(readFileSync(join(rootDir, 'package.json'), 'utf8')) as Record<
  'scripts' | 'dependencies' | 'devDependencies' | 'optionalDependencies',
  Record<string, string>
>;

/** The text of everything that is not documentation. */
function readSources(patterns: string[]): string {
  const exclude = (name: string) => ['node_modules', '.run', '.git', 'docs'].includes(name);
  return globSync(patterns, { cwd: rootDir, exclude })
    .map((file) => readFileSync(join(rootDir, file), 'utf8'))
    .join('\n');
}

describe.each(pages.map((page) => [page.file, page] as const))('%s', (file, page) => {
  it('its links lead somewhere', () => {
    const broken = relativeLinksOf(page).filter((link) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? file : normalize(join(dirname(file), path));
      if (!existsSync(join(rootDir, target))) return true;
      return anchor !== undefined && !anchorsOf(readPage(target)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  it('the npm scripts it names exist', () => {
    const named = [...page.text.matchAll(/npm (?:run (?:-s )?)?(start|test|(?<=run |run -s )[\w:-]+)/g)];
    const unknown = named.map(([, script = '']) => script).filter((script) => !(script in packageJson.scripts));
    expect(unknown).toEqual([]);
  });

  it('its JSON and YAML examples parse', () => {
    for (const { language, text } of codeBlocksOf(page)) {
      if (language === 'json') expect(() => JSON.parse(text) as unknown, text).not.toThrow();
      if (language === 'yaml' || language === 'yml') expect(() => parse(text) as unknown, text).not.toThrow();
    }
  });
});

it('the environment variables that the pages name exist', () => {
  const sources = readSources(['**/*.{ts,mjs,json,yml,env,sh}', 'Dockerfile', '.ci/run']);
  const known = (name: string) => keyOfVariable(name) !== undefined || new RegExp(`\\b${name}\\b`).test(sources);
  const unknown = pages.flatMap(({ file, text }) =>
    [...new Set(text.match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g))]
      .filter((name) => !known(name))
      .map((name) => `${file}: ${name}`),
  );
  expect(unknown).toEqual([]);
});

it('operations.md: every metric of the router, and no other', () => {
  const sources = readSources(['gateway/**/*.ts', 'lib/**/*.ts', 'plugins/**/*.ts', 'jobs/**/*.ts']);
  const inCode = new Set([...sources.matchAll(/'(router_[a-z_]+)'/g)].map(([, name]) => name));
  const documented = rowsOf(sectionOf(readPage('docs/operations.md'), 'Metrics')).map(([name]) => name);
  expect(documented.toSorted()).toEqual([...inCode].toSorted());
});

it('operations.md: every deprecated metric with its current name, and no other', () => {
  const documented = rowsOf(sectionOf(readPage('docs/operations.md'), 'Deprecated metrics'));
  expect(Object.fromEntries(documented)).toEqual(deprecatedMetrics);
});

it('decisions.md: one line for each dependency, and no other', () => {
  const { dependencies, devDependencies, optionalDependencies } = packageJson;
  const expected = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies });
  const documented = rowsOf(sectionOf(readPage('docs/decisions.md'), 'Dependencies')).map(([name]) => name);
  expect(documented.toSorted()).toEqual(expected.toSorted());
});

it('workers.md: every task type, and no other', () => {
  const documented = rowsOf(sectionOf(readPage('docs/workers.md'), 'Task types')).map(([name]) => name);
  expect(documented.toSorted()).toEqual(Object.keys(workers).toSorted());
});

it("security.md: the engine's calls that are open, in the order of the code", () => {
  const source = readSources(['plugins/conductor/task-api/allow-list.ts']);
  const rules = [...source.matchAll(/\{ method: '(\w+)', path: '([^']+)', scope: (worker|admin)Scope/g)];
  const documented = rowsOf(sectionOf(readPage('docs/security.md'), "The engine's API"));
  expect(documented).toEqual(rules.map(([, method, path, scope]) => [method, path, `conductor_${scope}`]));
});
