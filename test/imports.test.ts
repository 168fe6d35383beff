// Tests that imports point in one direction: a folder imports only from folders in lower layers.
// docs/explanation/architecture.md lists the layers.

import { globSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';
import { textOf } from './deploy/deployment-files.ts';

/**
 * The layers from top to bottom. A file belongs to the longest entry that its path begins with; one layer may contain
 * several folders that do not depend on each other.
 */
const layers: readonly (readonly string[])[] = [
  ['tools'],
  ['cli'],
  ['dev'],
  ['gateway'],
  ['jobs/mdm-updates'],
  ['jobs/prune', 'jobs/reconcile', 'workers'],
  ['gateway/snapshots'],
  ['gateway/operations'],
  ['gateway/pipelines', 'gateway/server'],
  ['plugins/api-docs', 'plugins/conductor', 'plugins/limits', 'plugins/oauth2'],
  ['plugins/conductor/workflow'],
  ['plugins/conductor/async-executions'],
  ['plugins/conductor/idempotency', 'plugins/conductor/task-api'],
  ['plugins/conductor/admission', 'plugins/conductor/telemetry', 'plugins/conductor/versions'],
  ['plugins/conductor/execution'],
  ['plugins/conductor/dispatch'],
  ['gateway/configuration'],
  ['gateway/plugin-api'],
  ['lib/records'],
  ['lib/openapi', 'lib/envelope', 'lib/redis', 'lib/process'],
  ['lib/conductor', 'lib/problem'],
  ['lib/telemetry'],
  ['lib/config', 'lib/gc', 'lib/http'],
  ['lib/json'],
];

const folders = layers.flat();
const levelOf = (folder: string) => layers.findIndex((layer) => layer.includes(folder));
const folderOf = (file: string) =>
  folders.filter((folder) => file.startsWith(`${folder}/`)).toSorted((one, other) => other.length - one.length)[0];

const sources = (tops: string) => globSync(`{${tops}}/**/*.{ts,mjs}`).filter((file) => !file.endsWith('.d.mts'));
const files = sources('lib,gateway,plugins,jobs,workers,cli,dev,tools');

interface Import {
  readonly from: string;
  readonly to: string;
  readonly specifier: string;
}

const importsOf = (from: string): Import[] =>
  [...textOf(from).matchAll(/(?:from\s+|import\s*\(?\s*)'([#.][^']+)'/g)].map(([, specifier = '']) => ({
    ...{ from, specifier },
    to: specifier.startsWith('#') ? specifier.slice(1) : normalize(join(dirname(from), specifier)),
  }));
const imports = files.flatMap(importsOf);

it('every source file belongs to a folder with a layer', () => {
  expect(files.length).toBeGreaterThan(500);
  expect(files.filter((file) => folderOf(file) === undefined)).toEqual([]);
});

it('no file imports from a folder above its own, or beside it', () => {
  const wrong = imports.filter(({ from, to }) => {
    const [source, target] = [folderOf(from), folderOf(to)];
    return source !== target && target !== undefined && levelOf(target) <= levelOf(source as string);
  });
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});

it('plugins import only the plugin API of the gateway', () => {
  const others = imports.filter(({ from, to }) => from.startsWith('plugins/') && /^gateway\/(?!plugin-api\/)/.test(to));
  expect(others).toEqual([]);
});

it('lib/ is imported as #lib from outside', () => {
  const others = imports.filter(
    ({ from, to, specifier }) => to.startsWith('lib/') && !from.startsWith('lib/') && specifier !== `#${to}`,
  );
  expect(others).toEqual([]);
});

/** Returns the cycles in a graph of imports, each as a chain of files that returns to its first file. */
function cyclesOf(imported: ReadonlyMap<string, readonly string[]>): string[] {
  const cycles: string[] = [];
  const finished = new Set<string>();
  const visit = (file: string, chain: readonly string[]) => {
    const start = chain.indexOf(file);
    if (start !== -1) cycles.push([...chain.slice(start), file].join(' → '));
    else if (!finished.has(file)) for (const next of imported.get(file) ?? []) visit(next, [...chain, file]);
    finished.add(file);
  };
  for (const file of imported.keys()) visit(file, []);
  return cycles;
}

it('there are no import cycles, including cycles of type-only imports', () => {
  const all = [...files, ...sources('bench,test')];
  expect(cyclesOf(new Map(all.map((file) => [file, importsOf(file).map(({ to }) => to)])))).toEqual([]);
});

it('reports an import cycle as a chain of files', () => {
  const imported = new Map([
    ['a.ts', ['b.ts', 'd.ts']],
    ['b.ts', ['c.ts']],
    ['c.ts', ['b.ts']],
    ['d.ts', ['b.ts']],
  ]);
  expect(cyclesOf(imported)).toEqual(['b.ts → c.ts → b.ts']);
});
