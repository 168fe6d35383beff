// Tests that a process of a stack is reused only when it runs with the same variables.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { pollUntil } from './poll-until.ts';
import { killLeftovers, leaveIdle, provide, provideOnly, stopIdle, stopPart } from './stack-part.ts';

let dir: string;
let entry: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'stack-part-'));
  entry = join(dir, 'program.mjs');
  writeFileSync(entry, `console.log('started'); process.send({ ready: {} }); process.on('message', () => undefined);`);
});
afterEach(() => stopIdle(entry));
afterAll(() => rmSync(dir, { recursive: true }));

it('the same variables: the same process, whose earlier output is forgotten', async () => {
  const first = await provide(entry, { A: '1' });
  await pollUntil('output of the process', () => first.program.output() !== '');
  leaveIdle([first]);
  const second = await provide(entry, { A: '1' });
  expect(second).toBe(first);
  expect(second.program.output()).toBe('');
  await stopPart(second);
});

it('an idle process is provided only once', async () => {
  const first = await provide(entry, {});
  leaveIdle([first]);
  const both = await provideOnly(entry, [{}, {}]);
  expect(both[0]).toBe(first);
  expect(both[1]?.program).not.toBe(first.program);
  leaveIdle(both);
});

it.each([
  ['another value of a variable', { A: '2' }],
  ['an additional variable', { A: '1', B: '1' }],
  ['a missing variable', {}],
])('%s: another process starts; the first ends when only one may run', async (_title, env) => {
  const first = await provide(entry, { A: '1' });
  leaveIdle([first]);
  const second = await provide(entry, env as Record<string, string>);
  expect([first.program.isAlive(), second.program.isAlive()]).toEqual([true, true]);
  const third = await provideOnly(entry, [env as Record<string, string>]);
  expect(first.program.isAlive()).toBe(false);
  leaveIdle([second, ...third]);
});

it('a process that has ended is replaced', async () => {
  const first = await provide(entry, { A: '1' });
  leaveIdle([first]);
  await first.program.kill();
  const second = await provide(entry, { A: '1' });
  expect(second.program.isAlive()).toBe(true);
  await stopPart(second);
});

it('leftovers are killed, idle processes are kept', async () => {
  const [kept, left] = [await provide(entry, {}), await provide(entry, {})];
  leaveIdle([kept]);
  await killLeftovers();
  expect([kept.program.isAlive(), left.program.isAlive()]).toEqual([true, false]);
});
