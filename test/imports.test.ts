// Imports point one way: a folder imports only from folders that stand below it. docs/explanation/architecture.md draws them.

import { globSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';
import { textOf } from './deploy/deployment-files.ts';

/**
 * From the top to the ground. A file belongs to the longest entry that its path begins with; one entry may hold several
 * folders that know nothing of each other.
 */
const layers: readonly (readonly string[])[] = [
  ['cli', 'tools'],
  ['dev'],
  ['gateway'],
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
];

const folders = layers.flat();
const levelOf = (folder: string) => layers.findIndex((layer) => layer.includes(folder));
const folderOf = (file: string) =>
  folders.filter((folder) => file.startsWith(`${folder}/`)).toSorted((one, other) => other.length - one.length)[0];

const files = globSync('{lib,gateway,plugins,jobs,workers,cli,dev,tools}/**/*.{ts,mjs}').filter(
  (file) => !file.endsWith('.d.mts'),
);

interface Import {
  readonly from: string;
  readonly to: string;
  readonly specifier: string;
}

const imports: readonly Import[] = files.flatMap((from) =>
  [...textOf(from).matchAll(/(?:from\s+|import\s*\(\s*)'([#.][^']+)'/g)].map(([, specifier = '']) => ({
    ...{ from, specifier },
    to: specifier.startsWith('#') ? specifier.slice(1) : normalize(join(dirname(from), specifier)),
  })),
);

it('every source file belongs to a folder with a place', () => {
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

it('what a plugin uses of the gateway is its plugin API', () => {
  const others = imports.filter(({ from, to }) => from.startsWith('plugins/') && /^gateway\/(?!plugin-api\/)/.test(to));
  expect(others).toEqual([]);
});

it('lib/ is imported as #lib from outside', () => {
  const others = imports.filter(
    ({ from, to, specifier }) => to.startsWith('lib/') && !from.startsWith('lib/') && specifier !== `#${to}`,
  );
  expect(others).toEqual([]);
});
