// Tests that code, documentation and tests use the standard terms: no retired word is left, and the search finds
// retired words.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { deprecatedNames, findRetiredWords } from '../../../tools/vocabulary/vocabulary.ts';

const rootDir = fileURLToPath(new URL('../../..', import.meta.url));
/** Files that are generated or recorded, and the vocabulary itself. */
const notOurProse = /^(?:node_modules|\.run|\.git|coverage)|\/results\/|\/corpus\/|vocabulary|^CHANGELOG\.md$/;
const patterns = ['**/*.{ts,mts,mjs,js,md,yml,html,css,properties,cfg,conf,env}', 'deploy/**/*.json'];
const files = globSync(patterns, {
  cwd: rootDir,
  exclude: (name) => name === 'node_modules' || name === '.run' || name === 'dist',
}).filter((file) => !notOurProse.test(file));
/** Files that define, document or test the deprecated names. */
const namesDeprecated =
  /^docs\/reference\/(?:configuration|metrics)\.md$|deprecated-(?:keys|metrics)(?:\.test)?\.ts$|^test\/cli\/check\.test\.ts$/;

it('no file uses a retired word', () => {
  expect(files.length).toBeGreaterThan(800);
  const found = files.flatMap((file) =>
    findRetiredWords(readFileSync(join(rootDir, file), 'utf8')).map(
      ({ line, word, use }) => `${file}:${line}: "${word}"; write: ${use}`,
    ),
  );
  expect(found).toEqual([]);
});

it('only files that define, document or test a deprecated name use it', () => {
  const names = new RegExp(deprecatedNames.map((name) => `\\b${name.replaceAll('.', '\\.')}\\b`).join('|'), 'g');
  const found = files
    .filter((file) => !namesDeprecated.test(file))
    .flatMap((file) =>
      (readFileSync(join(rootDir, file), 'utf8').match(names) ?? []).map((name) => `${file}: ${name}`),
    );
  expect(found).toEqual([]);
});

it.each([
  ['a parked poll', 'parked'],
  ['this.takeOver()', 'takeOver'],
  ['it is mended by hand', 'mended'],
  ['whoever asks', 'whoever'],
  ['config["x"] of the map', 'the map'],
  ['the answer of a back end', 'the answer'],
  ['a PATCH is owed', 'owed'],
])('finds %j', (text, word) => {
  expect(findRetiredWords(`first line\n${text}`)).toEqual([expect.objectContaining({ line: 2, word })]);
});

it.each([
  ...['conductor.handOver', 'router_parked_polls', 'mdm.updates.parked'],
  ...['an engine that answers', 'the answer was no'],
])('accepts %j', (text) => {
  expect(findRetiredWords(text)).toEqual([]);
});
