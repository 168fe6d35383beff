// Tests of how a program reacts to signals, to the exit of its launcher and to uncaught exceptions (with a reload, a
// graceful stop or an immediate end), and of its log level.

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { pollUntil } from '../../stack/poll-until.ts';
import { type Program, ProgramFailed, startProgram } from '../../stack/program.ts';

const dir = mkdtempSync(join(tmpdir(), 'service-router-program-'));
const runProgram = fileURLToPath(new URL('../../../lib/process/run-program.ts', import.meta.url));
let program: Program | undefined;
afterEach(async () => void (await program?.stop()));
afterAll(() => rmSync(dir, { recursive: true }));

/** Starts a program that sends itself a signal during startup, after it has run the statements `first`. */
async function start(members: string, { signal = 'SIGHUP', env = {}, first = '' } = {}): Promise<Program> {
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(dir, 'program.ts'),
    `import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { runProgram } from ${JSON.stringify(runProgram)};
await runProgram('test', async () => {
  const timer = setInterval(() => undefined, 1_000);
  ${first}
  process.kill(process.pid, '${signal}');
  await pause(${signal === 'SIGHUP' ? 20 : 60_000});
  return { ready: {}, stop: async () => clearInterval(timer), ${members} };
});
`,
  );
  program = await startProgram(join(dir, 'program.ts'), env);
  return program;
}

it('a SIGHUP during startup takes effect when the program is ready, and a later SIGHUP takes effect too', async () => {
  const { process: child, output } = await start(`reload: async (reason) => console.log('reloads for ' + reason)`);
  const times = (count: number) => output().split('reloads for SIGHUP').length - 1 === count;
  await pollUntil('the early signal to take effect', () => times(1));
  child.kill('SIGHUP');
  await pollUntil('the second signal to take effect', () => times(2));
});

it('a program that cannot reload: logs this, keeps running, and ends as usual', async () => {
  const { output, stop } = await start('');
  await pollUntil('the log line', () => output().includes('reads its configuration only at startup'));
  expect(await stop()).toBe(0);
});

// Without a handler, the kernel ignores the signal if the program is process 1 of a container.
it.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
])('%s during startup: exit code %i, which is 128 plus the signal number', async (signal, exitCode) => {
  const ended = await start('', { signal }).catch((error: unknown) => error);
  expect(ended).toBeInstanceOf(ProgramFailed);
  expect(ended).toMatchObject({ exitCode, output: expect.stringContaining('stopped before the program was ready') });
});

describe('LOG_LEVEL', () => {
  it.each(['', 'loud', 'toString'])(
    '%j: the program logs at level info until it has its configuration',
    async (level) => {
      const { output } = await start('', { env: { LOG_LEVEL: level } });
      await pollUntil('the log line', () => output().includes('"level":"info"'));
    },
  );

  it('warn: lines at level info are not written', async () => {
    const { output } = await start('', { env: { LOG_LEVEL: 'warn' } });
    await pollUntil('the log line', () => output().includes('reads its configuration only at startup'));
    expect(output()).not.toContain('"level":"info"');
  });

  it('that is not a level: is reported with the other problems of the configuration', async () => {
    const env = { LOG_LEVEL: 'loud', ROUTER_PORT: 'none' };
    const ended = await startProgram('dev/back-ends/main.ts', env).catch((error: unknown) => error);
    expect(ended).toBeInstanceOf(ProgramFailed);
    const { exitCode, output } = ended as ProgramFailed;
    expect(exitCode).toBe(1);
    expect(output).toContain(
      'environment: log.level must be one of trace, debug, info, warn, error, fatal, silent, but is "loud"',
    );
    expect(output).toContain('environment: router.port must be an integer, but is "none"');
  });
});

/** A graceful stop that lasts until the file `stopped` exists. */
const drains = `stop: async () => {
  console.log('drains');
  while (!existsSync(${JSON.stringify(join(dir, 'stopped'))})) await pause(20);
  clearInterval(timer);
  console.log('has drained');
}`;

describe('the exit of the launcher', () => {
  afterEach(() => rmSync(join(dir, 'stopped'), { force: true }));

  /** Starts a program, closes its IPC channel and sends it SIGTERM, as exit-with-parent does. */
  async function orphan() {
    const { process: child, output } = await start(drains);
    const ended = once(child, 'exit');
    child.disconnect();
    await pollUntil('the graceful stop', () => output().includes('drains'));
    child.kill('SIGTERM');
    return { child, output, ended };
  }

  it('stops a program gracefully, even if a SIGTERM follows', async () => {
    const { child, output, ended } = await orphan();
    // SIGHUP is handled after SIGTERM, and does not affect the stop.
    child.kill('SIGHUP');
    await pollUntil('the signals to be handled', () => output().split('SIGHUP ignored').length > 2);
    writeFileSync(join(dir, 'stopped'), '');
    expect(await ended).toEqual([0, null]);
  });

  it('during a graceful stop does not shorten it', async () => {
    const first = `process.on('disconnect', () => console.log('disconnected'));`;
    const { process: child, output } = await start(drains, { first });
    const ended = once(child, 'exit');
    child.kill('SIGINT');
    await pollUntil('the graceful stop', () => output().includes('drains'));
    child.disconnect();
    await pollUntil('the end of the IPC channel', () => output().includes('disconnected'));
    child.kill('SIGTERM');
    child.kill('SIGHUP');
    await pollUntil('the signals to be handled', () => output().split('SIGHUP ignored').length > 2);
    writeFileSync(join(dir, 'stopped'), '');
    expect(await ended).toEqual([0, null]);
  });

  it('followed by SIGTERM and a further signal ends a program at once', async () => {
    const { child, ended } = await orphan();
    child.kill('SIGINT');
    expect(await ended).toEqual([1, null]);
  });
});

it('a signal that arrives twice, as from systemd, stops a program gracefully; a later one ends it at once', async () => {
  const { process: child, output } = await start(drains);
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await pollUntil('the graceful stop', () => output().includes('drains'));
  child.kill('SIGTERM');
  // SIGHUP is handled after the repeated SIGTERM, and does not affect the stop.
  child.kill('SIGHUP');
  await pollUntil('the signals to be handled', () => output().split('SIGHUP ignored').length > 2);
  expect(child.exitCode).toBeNull();
  await pollUntil('the end', () => child.kill('SIGTERM') === false || child.exitCode !== null);
  expect(await ended).toEqual([1, null]);
});

describe('an uncaught exception', () => {
  afterEach(() => rmSync(join(dir, 'stopped'), { force: true }));

  /** Turns each SIGUSR2 into an unhandled rejection, but the third into an exception that is not an Error. */
  const first = `let strays = 0;
  process.on('SIGUSR2', () => {
    strays += 1;
    if (strays === 3) setTimeout(() => { throw null; });
    else void Promise.reject(new Error('stray ' + strays));
  });`;
  const linesOf = (output: string) =>
    output
      .split('\n')
      .filter((line) => line.includes('"uncaught exception"'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  /** Starts a program, causes an exception in it and waits until the graceful stop begins. */
  async function startStopping() {
    const { process: child, output } = await start(drains, { first });
    const ended = once(child, 'close');
    child.kill('SIGUSR2');
    await pollUntil('the graceful stop', () => output().includes('drains'));
    return { child, output, ended };
  }

  it('stops a program gracefully, with exit code 1; further exceptions are logged and do not shorten the stop', async () => {
    const { child, output, ended } = await startStopping();
    for (const count of [2, 3]) {
      child.kill('SIGUSR2');
      await pollUntil('the next exception', () => linesOf(output()).length === count);
    }
    writeFileSync(join(dir, 'stopped'), '');
    expect(await ended).toEqual([1, null]);
    const stack = expect.stringContaining('stray');
    expect(linesOf(output())).toMatchObject([
      { level: 'fatal', error: 'stray 1', stack },
      { level: 'error', error: 'stray 2', stack },
      { level: 'error', error: 'null' },
    ]);
    expect(output().split('drains')).toHaveLength(2);
    expect(output()).toContain('has drained');
  });

  it('followed by a signal: the stop continues; a second signal ends the program at once', async () => {
    const { child, output, ended } = await startStopping();
    child.kill('SIGTERM');
    child.kill('SIGUSR2');
    // Signals are handled in order: the exception shows that SIGTERM has not ended the program.
    await pollUntil('the next exception', () => linesOf(output()).length === 2);
    child.kill('SIGINT');
    expect(await ended).toEqual([1, null]);
    expect(output()).toContain('exiting immediately');
    expect(output()).not.toContain('has drained');
  });

  it('during the graceful stop after a signal does not shorten it, and the exit code is 1', async () => {
    const { process: child, output } = await start(drains, { first });
    const ended = once(child, 'close');
    child.kill('SIGTERM');
    await pollUntil('the graceful stop', () => output().includes('drains'));
    child.kill('SIGUSR2');
    await pollUntil('the exception', () => linesOf(output()).length === 1);
    writeFileSync(join(dir, 'stopped'), '');
    expect(await ended).toEqual([1, null]);
    expect(linesOf(output())).toMatchObject([{ level: 'fatal', error: 'stray 1' }]);
    expect(output()).toContain('has drained');
  });

  it.each([
    ['throws', `stop() { throw new Error('no stop'); }`],
    ['rejects', `stop: async () => { throw new Error('no stop'); }`],
  ])('and a stop that %s: exit code 1', async (_how, stop) => {
    const { process: child, output } = await start(stop, { first });
    const ended = once(child, 'close');
    child.kill('SIGUSR2');
    expect(await ended).toEqual([1, null]);
    expect(output()).toMatch(/"error":"no stop".*"graceful stop failed"/);
  });

  it('during startup ends a program at once', async () => {
    const stray = `void Promise.reject(new Error('stray'));`;
    const ended = await start(drains, { first: stray }).catch((error: unknown) => error);
    expect(ended).toBeInstanceOf(ProgramFailed);
    expect(ended).toMatchObject({ exitCode: 1, output: expect.not.stringContaining('drains') });
  });
});
