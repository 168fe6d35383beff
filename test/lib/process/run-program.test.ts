// Tests of SIGHUP: it reloads a program that can reload, even when it arrives early, and never ends a program.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, expect, it } from 'vitest';
import { pollUntil } from '../../stack/poll-until.ts';
import { type Program, startProgram } from '../../stack/program.ts';

const dir = mkdtempSync(join(tmpdir(), 'service-router-program-'));
const runProgram = fileURLToPath(new URL('../../../lib/process/run-program.ts', import.meta.url));
let program: Program | undefined;
afterEach(async () => void (await program?.stop()));
afterAll(() => rmSync(dir, { recursive: true }));

/** Starts a program that gets the signal while it starts. */
async function start(members: string): Promise<Program> {
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(dir, 'program.ts'),
    `import { setTimeout as pause } from 'node:timers/promises';
import { runProgram } from ${JSON.stringify(runProgram)};
await runProgram('test', async () => {
  const timer = setInterval(() => undefined, 1_000);
  process.kill(process.pid, 'SIGHUP');
  await pause(20);
  return { ready: {}, stop: async () => clearInterval(timer), ${members} };
});
`,
  );
  program = await startProgram(join(dir, 'program.ts'));
  return program;
}

it('a signal while the program starts: takes effect when the program is ready; so does a second one', async () => {
  const { process: child, output } = await start(`reload: async (reason) => console.log('reloads for ' + reason)`);
  const times = (count: number) => output().split('reloads for SIGHUP').length - 1 === count;
  await pollUntil('the early signal to be heeded', () => times(1));
  child.kill('SIGHUP');
  await pollUntil('the second signal to be heeded', () => times(2));
});

it('a program that cannot reload: logs this, keeps running, and ends as usual', async () => {
  const { output, stop } = await start('');
  await pollUntil('the log line', () => output().includes('reads its configuration only at startup'));
  expect(await stop()).toBe(0);
});
