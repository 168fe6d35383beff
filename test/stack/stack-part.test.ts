// A process of a stack is used again only when it runs with the same variables.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { killLeftovers, leaveIdleStack, takeIdleStack } from './idle-stack.ts';
import { pollUntil } from './poll-until.ts';
import { type Part, provide, stopPart } from './stack-part.ts';

let dir: string;
let entry: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'stack-part-'));
  entry = join(dir, 'program.mjs');
  writeFileSync(entry, `console.log('started'); process.send({ ready: {} }); process.on('message', () => undefined);`);
});
afterAll(() => rmSync(dir, { recursive: true }));

it('the same variables: the same process, whose earlier output is forgotten', async () => {
  const first = await provide(entry, { A: '1' });
  await pollUntil('its output', () => first.program.output() !== '');
  const second = await provide(entry, { A: '1' }, first);
  expect(second).toBe(first);
  expect(second.program.output()).toBe('');
  await stopPart(second);
});

it.each([
  ['another variable', { A: '2' }],
  ['one variable more', { A: '1', B: '1' }],
  ['one variable less', {}],
])('%s: the process ends, another starts', async (_title, env) => {
  const first = await provide(entry, { A: '1' });
  const second = await provide(entry, env as Record<string, string>, first);
  expect([first.program.isAlive(), second.program.isAlive()]).toEqual([false, true]);
  await stopPart(second);
});

it('one that has ended is replaced', async () => {
  const first = await provide(entry, { A: '1' });
  await first.program.kill();
  const second = await provide(entry, { A: '1' }, first);
  expect(second.program.isAlive()).toBe(true);
  await stopPart(second);
});

it('leftovers are killed, what the idle stack has is kept', async () => {
  const [kept, left] = [await provide(entry, {}), await provide(entry, {})];
  const nothing: Part = await provide(entry, {});
  await stopPart(nothing);
  leaveIdleStack({ stateDir: dir, ports: { ROUTER_PORT: '1', OPS_PORT: '2' }, router: kept, workers: [nothing] });
  await killLeftovers();
  expect([kept.program.isAlive(), left.program.isAlive()]).toEqual([true, false]);
  takeIdleStack();
  await stopPart(kept);
});
