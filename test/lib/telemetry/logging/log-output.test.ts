// Tests of logging by real processes: to a full disk, to a closed pipe, to a slow or hung reader, and just before exit.

import { execFileSync, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { requires } from '../../../run/requirements.ts';
import { pollUntil } from '../../../stack/poll-until.ts';

const log = fileURLToPath(new URL('../../../../lib/telemetry/logging/log.ts', import.meta.url));
const runProgram = fileURLToPath(new URL('../../../../lib/process/run-program.ts', import.meta.url));

/** Starts a program that runs `body` with `log`; it is killed after two minutes. */
function start(body: string, stdio: StdioOptions) {
  const program = `import { createLog } from '${log}'; const log = createLog('test'); ${body}`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '--eval', program];
  return spawn(process.execPath, args, { stdio, timeout: 120_000, killSignal: 'SIGKILL' });
}

/** Logs for a while, writes to standard error to show that the program is still running, then ends. */
const logForAWhile = `
  const lines = setInterval(() => log.info('a line'), 10);
  setTimeout(() => {
    clearInterval(lines);
    log.fatal('the last line');
    process.stderr.write('still there');
  }, 200);
`;

it('a program whose log cannot be written keeps running, and ends normally', requires('dev-full'), async () => {
  const child = start(logForAWhile, ['ignore', openSync('/dev/full', 'w'), 'pipe']);
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => (said += String(chunk)));
  expect((await once(child, 'close'))[0]).toBe(0);
  expect(said).toBe('still there');
});

it.each(['process.exit(3);', 'process.exitCode = 3;', "throw new Error('unforeseen');"])(
  'a program ends although nobody reads its log any more: %s',
  async (end) => {
    const child = start(
      `process.once('message', () => { process.disconnect(); log.info('the end'); log.info('is near'); ${end} });`,
      ['ignore', 'pipe', 'ignore', 'ipc'],
    );
    child.stdout?.destroy();
    child.send('end');
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    expect(signal).toBeNull();
    expect(code).toBe(end.startsWith('throw') ? 1 : 3);
  },
);

/** Returns the write end of a pipe that nobody reads. */
function openUnreadPipe(): number {
  const dir = mkdtempSync(join(tmpdir(), 'service-router-log-'));
  const pipe = join(dir, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(pipe, 'w');
  onTestFinished(() => {
    for (const fd of [reader, writer]) closeSync(fd);
    rmSync(dir, { recursive: true });
  });
  return writer;
}

/** Logs more than a pipe or a socket can buffer, then throws or waits for SIGTERM. Draining takes 100 ms. */
const runWithLongLog = (then: string) => `
  const { runProgram } = await import('${runProgram}');
  const { setTimeout: pause } = await import('node:timers/promises');
  await runProgram('test', async () => {
    for (let n = 0; n < 5_000; n++) log.info({ n }, '${'x'.repeat(100)}');
    setInterval(() => log.info('a line'), 10);
    ${then}
    return { ready: {}, stop: () => pause(100) };
  });
`;

it.each([
  ['pipe', 'SIGTERM', 0],
  ['pipe', 'an uncaught exception', 1],
  ['socket', 'SIGTERM', 0],
  ['socket', 'an uncaught exception', 1],
])('a program whose log is a %s that nobody reads ends after %s', async (kind, end, exitCode) => {
  // With the stdio option 'pipe', Node connects the output of the child through a socket.
  const output = kind === 'socket' ? 'pipe' : openUnreadPipe();
  const throwLater = `setTimeout(() => { throw new Error('unforeseen'); }, 100);`;
  const child = start(runWithLongLog(end === 'SIGTERM' ? '' : throwLater), ['ignore', output, 'inherit', 'ipc']);
  const ended = once(child, 'exit');
  await once(child, 'message');
  const ready = performance.now();
  if (end === 'SIGTERM') child.kill('SIGTERM');
  expect(await ended).toEqual([exitCode, null]);
  expect(performance.now() - ready).toBeLessThan(10_000);
});

it.each([
  ['exits', ''],
  // pino flushes the log after a line of level fatal, and the exit flushes it again.
  ['crashes', "log.fatal({ n: 5_100 }, 'the last line');"],
])('a slow reader gets the lines once, in order and without gaps, after the program %s', async (_end, last) => {
  const line = (n: string) => `log.info({ n: ${n} }, '${'x'.repeat(100)}');`;
  const end = `for (let n = 5_000; n < 5_100; n++) ${line('n')} ${last} process.exit(0);`;
  const body = `for (let n = 0; n < 5_000; n++) ${line('n')} process.once('message', () => { ${end} });`;
  const child = start(body, ['ignore', 'pipe', 'inherit', 'ipc']);
  const closed = once(child, 'close');
  const reader = child.stdout as Readable;
  await pollUntil('the buffer to be full', () => reader.readableLength >= reader.readableHighWaterMark);
  child.send('end');
  let text = '';
  reader.on('data', (chunk: Buffer) => (text += String(chunk)));
  await closed;
  // At exit, the process flushes its log for 500 ms at most, so the last lines may be missing on a busy machine.
  const numbers = text
    .split('\n')
    .slice(0, -1)
    .map((json) => (JSON.parse(json) as { n: number }).n);
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, n) => n));
});

it('a slow reader gets every line, in order, including the last ones', async () => {
  const count = 5_000;
  const filler = 'x'.repeat(100);
  const body = `process.once('message', () => process.exit(0)); for (let n = 0; n < ${count}; n++) log.info({ n }, '${filler}');`;
  const child = start(body, ['ignore', 'pipe', 'inherit', 'ipc']);
  const closed = once(child, 'close');
  let text = '';
  // Nothing is read until the buffer is full, so the program cannot write any further lines.
  const reader = child.stdout as Readable;
  await pollUntil('the buffer to be full', () => reader.readableLength >= reader.readableHighWaterMark);
  reader.on('data', (chunk: Buffer) => (text += String(chunk)));
  await pollUntil('the last line', () => text.includes(`"n":${count - 1},`));
  child.send('end');
  await closed;
  const numbers = text
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { n: number }).n);
  expect(numbers).toEqual(Array.from({ length: count }, (_, n) => n));
});

it('lines that are logged just before the exit are written', async () => {
  const child = start("for (let n = 0; n < 100; n++) log.info('a line'); process.exit(0);", [
    'ignore',
    'pipe',
    'inherit',
  ]);
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => (text += String(chunk)));
  await once(child, 'close');
  expect(text.trimEnd().split('\n')).toHaveLength(100);
});
