// Tests that every file of the product opens with a comment, and that every exported declaration has a useful
// docstring.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { findUndocumented } from '../../../tools/docstrings/docstrings.ts';

const rootDir = fileURLToPath(new URL('../../..', import.meta.url));
const findIn = (text: string) =>
  findUndocumented([{ path: 'a.ts', text: `// A test.\n${text}` }]).map(({ name, problem }) => `${name} ${problem}`);

it('every exported declaration has a docstring', () => {
  const paths = globSync('{gateway,plugins,lib,workers,jobs,cli}/**/*.ts', { cwd: rootDir });
  expect(paths.length).toBeGreaterThan(300);
  const found = findUndocumented(paths.map((path) => ({ path, text: readFileSync(join(rootDir, path), 'utf8') })));
  expect(found.map(({ path, line, name, problem }) => `${path}:${line}: ${name} ${problem}`)).toEqual([]);
});

it.each([
  ['function', 'export function run() {}', 'run'],
  ['async function', 'export async function run() {}', 'run'],
  ['class', 'export class Run {}', 'Run'],
  ['interface', 'export interface Run {}', 'Run'],
  ['type', 'export type Run = string;', 'Run'],
  ['constant', 'export const run = 1;', 'run'],
  ['second constant of a statement', '/** How far. */\nexport const far = 1;\nexport const run = 2;', 'run'],
  ['declaration below a plain comment', '// How it runs.\nexport const run = 1;', 'run'],
  ['method', '/** Several runs at once. */\nexport class Race { run() {} }', 'Race.run'],
  ['static method', '/** Several runs at once. */\nexport class Race { static run() {} }', 'Race.run'],
  ['accessor', '/** Several runs at once. */\nexport class Race { get run() { return 1; } }', 'Race.run'],
])('finds a %s without a docstring', (_, text, name) => {
  expect(findIn(text)).toEqual([`${name} has no docstring`]);
});

it('finds a method that the implemented interface does not declare', () => {
  const text = `
    /** What can start. */
    export interface Startable {
      /** Begins the race. */
      start(): void;
    }
    /** Several runs at once. */
    export class Race implements Startable { start() {} stop() {} }`;
  expect(findIn(text)).toEqual(['Race.stop has no docstring']);
});

it('finds a method that is documented neither in the class nor in the interface', () => {
  const text = `
    /** What can start. */
    export interface Startable { start(): void }
    /** Several runs at once. */
    export class Race implements Startable { start() {} }`;
  expect(findIn(text)).toEqual(['Race.start has no docstring']);
});

it('finds a file that does not open with a comment', () => {
  const [found] = findUndocumented([{ path: 'a.ts', text: "import './b.ts';\n// A comment.\n" }]);
  expect(found).toEqual({ path: 'a.ts', line: 1, name: 'file', problem: 'has no opening comment' });
});

it.each([
  ['/** The access token. */\nexport class AccessToken {}', 'AccessToken'],
  ['/** Reads the settings. */\nexport function readSettings() {}', 'readSettings'],
])('finds a docstring that only repeats the name: %j', (text, name) => {
  expect(findIn(text)).toEqual([`${name} has a docstring that only repeats its name`]);
});

it.each([
  ['a declaration that is not exported', 'function run() {}\nclass Race { run() {} }'],
  ['a constructor', '/** Several runs at once. */\nexport class Race { constructor() {} }'],
  [
    'a private method',
    '/** Several runs at once. */\nexport class Race { #run() {} private walk() {} protected go() {} }',
  ],
  ['an overriding method', '/** Several runs at once. */\nexport class Race extends Event { override run() {} }'],
  [
    'a method of an interface of a package',
    '/** Several runs at once. */\nexport class Race implements EventListener { run() {} }',
  ],
  ['an overload', '/** Miles. */\nexport function run(far: 1): 1;\nexport function run(far: number) { return far; }'],
  ['a re-export', "export * from './race.ts';\nexport { run } from './race.ts';"],
])('accepts %s', (_, text) => {
  expect(findIn(text)).toEqual([]);
});
