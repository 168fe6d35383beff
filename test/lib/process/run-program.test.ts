// Tests of how a program reacts to signals and to the exit of its launcher (with a reload, a graceful stop or an
// immediate end), and of its log level.

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

/** Starts a program that sends itself a signal during startup. */
async function start(members: string, { signal = 'SIGHUP', env = {} } = {}): Promise<Program> {
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(dir, 'program.ts'),
    `import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { runProgram } from ${JSON.stringify(runProgram)};
await runProgram('test', async () => {
  const timer = setInterval(() => undefined, 1_000);
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
