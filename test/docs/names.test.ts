// Tests that the links, scripts, environment variables, dependencies and task types in the pages exist, and that the
// examples in the pages parse.

import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { taskTypeOfBackEnd } from '#lib/config/back-end-name.ts';
import { keyOfVariable } from '#lib/config/environment.ts';
import { workers } from '../../workers/index.ts';
import { anchorsOf, codeBlocksOf, readPage, readPages, relativeLinksOf, rootDir, rowsOf, sectionOf } from './pages.ts';

const pages = readPages();
const packageJson = JSON.parse(readFileSync(join(rootDir, 'package.json'), 'utf8')) as Record<
  'scripts' | 'dependencies' | 'devDependencies' | 'optionalDependencies',
  Record<string, string>
>;

/** Returns the text of all files that match the patterns, except documentation. */
function readSources(patterns: string[]): string {
  const exclude = (name: string) => ['node_modules', '.run', '.git', 'docs'].includes(name);
  return globSync(patterns, { cwd: rootDir, exclude })
    .map((file) => readFileSync(join(rootDir, file), 'utf8'))
    .join('\n');
}

/**
 * Returns whether the file of a link exists and has the heading of its anchor.
 * @param link path below the root, with or without an anchor
 */
function leadsSomewhere(link: string): boolean {
  const [file = '', anchor] = link.split('#');
  if (!existsSync(join(rootDir, file))) return false;
  return anchor === undefined || anchorsOf(readPage(file)).includes(anchor);
}

describe.each(pages.map((page) => [page.file, page] as const))('%s', (file, page) => {
  it('its links lead to existing files and headings', () => {
    const broken = relativeLinksOf(page).filter((link) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? file : normalize(join(dirname(file), path));
      return !leadsSomewhere(anchor === undefined ? target : `${target}#${anchor}`);
    });
    expect(broken).toEqual([]);
  });

  it('it names only npm scripts that exist', () => {
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

it('code, configuration and messages name only pages and anchors that exist', () => {
  const sources = readSources(['**/*.{ts,mjs,js,json,yml,properties,cfg,env,sh}', 'Dockerfile', '.ci/run']);
  const named = new Set(sources.match(/\bdocs\/[\w/-]+\.md(?:#[\w-]+)?/g));
  expect(named.size).toBeGreaterThan(30);
  expect([...named].filter((link) => !leadsSomewhere(link))).toEqual([]);
});

it('docs/README.md lists every page, and adr/README.md lists every decision record', () => {
  const listed = relativeLinksOf(readPage('docs/README.md'));
  const below = pages.map(({ file }) => file).filter((file) => file.startsWith('docs/') && file !== 'docs/README.md');
  const missing = below.filter((file) => !listed.includes(file.slice('docs/'.length)));
  expect(missing.filter((file) => !/\/adr\/\d/.test(file))).toEqual([]);
  const records = relativeLinksOf(readPage('docs/explanation/adr/README.md'));
  expect(missing.filter((file) => !records.includes(basename(file)))).toEqual([]);
});

it('the pages name only environment variables that exist', () => {
  const sources = readSources(['**/*.{ts,mjs,json,yml,env,sh}', 'Dockerfile', '.ci/run']);
  const known = (name: string) => keyOfVariable(name) !== undefined || new RegExp(`\\b${name}\\b`).test(sources);
  const unknown = pages.flatMap(({ file, text }) =>
    [...new Set(text.match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g))]
      .filter((name) => !known(name))
      .map((name) => `${file}: ${name}`),
  );
  expect(unknown).toEqual([]);
});

it('0019-dependencies.md has one row for each dependency, and no other', () => {
  const { dependencies, devDependencies, optionalDependencies } = packageJson;
  const expected = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies });
  const documented = rowsOf(sectionOf(readPage('docs/explanation/adr/0019-dependencies.md'), 'Packages')).map(
    ([name]) => name,
  );
  expect(documented.toSorted()).toEqual(expected.toSorted());
});

it('workers.md lists every task type of the product, and no other', () => {
  const documented = rowsOf(sectionOf(readPage('docs/reference/workers.md'), 'Task types')).map(([name]) => name);
  // Plain back ends that a gateway adds need no row.
  const backEnds = ['lms-dw', 'movies'].map(taskTypeOfBackEnd);
  expect(documented.toSorted()).toEqual([...Object.keys(workers), ...backEnds].toSorted());
});
