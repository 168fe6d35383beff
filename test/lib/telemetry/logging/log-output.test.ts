// Tests of real processes that log to a full disk, to a closed pipe, to a slow reader, and until they end.

import { spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { requires } from '../../../run/requirements.ts';
import { pollUntil } from '../../../stack/poll-until.ts';

const log = fileURLToPath(new URL('../../../../lib/telemetry/logging/log.ts', import.meta.url));

/** Starts a program that runs `body` with `log`; it is killed after two minutes. */
function start(body: string, stdio: StdioOptions) {
  const program = `import { createLog } from '${log}'; const log = createLog('test'); ${body}`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '--eval', program];
  return spawn(process.execPath, args, { stdio, timeout: 120_000 });
}

/** Logs for a while, then writes to standard error to show that the program still runs, and ends. */
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
  'a program whose log nobody reads any more ends: %s',
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

it('a slow reader gets every line, in order, including the last ones', async () => {
  const count = 5_000;
  const filler = 'x'.repeat(100);
  const body = `process.once('message', () => process.exit(0)); for (let n = 0; n < ${count}; n++) log.info({ n }, '${filler}');`;
  const child = start(body, ['ignore', 'pipe', 'inherit', 'ipc']);
  const closed = once(child, 'close');
  let text = '';
  // Reads nothing until its buffer is full, so the program cannot write the other lines.
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
