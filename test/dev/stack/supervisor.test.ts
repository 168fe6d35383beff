// Tests of the supervisor of a program: when it restarts the program, and when it gives up.

import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { type Child, startChild } from '../../../dev/stack/child.ts';
import { type Crash, Supervisor } from '../../../dev/stack/supervisor.ts';
import { CollectedOutput } from '../collected-output.ts';
import { pollUntil } from '../../stack/poll-until.ts';
import { isAlive } from '../process-alive.ts';

const policy = { crashes: 3, windowMs: 60_000, firstDelayMs: 10, maxDelayMs: 40 };

const supervisors: Supervisor[] = [];

function supervise(name: string, ...parameters: string[]) {
  const output = new CollectedOutput();
  const args = [fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url)), ...parameters];
  const options = { command: process.execPath, args, env: process.env, output };
  return { output, options, ...superviseLaunch(() => startChild(options)) };
}

function superviseLaunch(launch: () => Child) {
  const crashes: Crash[] = [];
  const supervisor = new Supervisor({ launch, onCrash: (crash) => crashes.push(crash), policy });
  supervisors.push(supervisor);
  return { supervisor, crashes };
}

afterEach(async () => {
  await Promise.all(supervisors.splice(0).map((supervisor) => supervisor.stop()));
});

describe('a supervisor', () => {
  it('restarts a program that was killed', async () => {
    const { supervisor, crashes } = supervise('stays.ts');
    supervisor.start();
    await supervisor.ready;
    const first = supervisor.pid!;
    process.kill(first, 'SIGKILL');
    await pollUntil('another process', () => supervisor.pid !== first);
    expect(crashes).toEqual([
      { ending: { code: null, signal: 'SIGKILL' }, count: 1, decision: { action: 'restart', delayMs: 10 } },
    ]);
    expect(isAlive(supervisor.pid!)).toBe(true);
  });

  it('gives up on a program that keeps crashing', async () => {
    const { supervisor, crashes, output } = supervise('dies.ts');
    supervisor.start();
    await expect(supervisor.ready).rejects.toThrow('the program kept crashing');
    expect(crashes.map(({ decision }) => decision.action)).toEqual(['restart', 'restart', 'give up']);
    expect(crashes[0]?.ending).toEqual({ code: 3, signal: null });
    expect(output.text.match(/first line/g)).toHaveLength(3);
  });

  it('gives up on a program that cannot be started', async () => {
    const { supervisor, crashes } = superviseLaunch(() => {
      throw new Error('no space left');
    });
    supervisor.start();
    await expect(supervisor.ready).rejects.toThrow('the program kept crashing');
    expect(crashes.map(({ ending }) => ending.error?.message)).toEqual(Array(3).fill('no space left'));
    await supervisor.stop();
  });

  it('stops a program that is not ready in time, and counts this as a crash', async () => {
    const { options } = supervise('stays.ts');
    const waitUntilReady = async (): Promise<never> => {
      throw new Error('not ready in time');
    };
    const { supervisor, crashes } = superviseLaunch(() => startChild({ ...options, waitUntilReady }));
    supervisor.start();
    await expect(supervisor.ready).rejects.toThrow('the program kept crashing');
    // Whether the signal ends the program or the program ends itself depends on how far the start has progressed.
    expect(crashes).toHaveLength(3);
    for (const { ending } of crashes) expect(ending.error?.message).toBe('not ready in time');
  });

  it('becomes ready with the first process that works, however often the program exits later', async () => {
    const { supervisor, crashes } = supervise('dies.ts', '20');
    supervisor.start();
    await expect(supervisor.ready).resolves.toEqual({});
    await pollUntil('the supervisor to give up', () => crashes.at(-1)?.decision.action === 'give up');
  });

  it('does not restart a program that it has stopped', async () => {
    const { supervisor, crashes } = supervise('stays.ts');
    supervisor.start();
    await supervisor.ready;
    const pid = supervisor.pid!;
    await supervisor.stop();
    expect(isAlive(pid)).toBe(false);
    expect(crashes).toEqual([]);
  });

  it('can be stopped while it waits to restart the program', async () => {
    const { supervisor, crashes } = supervise('dies.ts');
    supervisor.start();
    await pollUntil('the program to crash', () => crashes.length === 1);
    await supervisor.stop();
    await expect(supervisor.ready).rejects.toThrow('the program was stopped');
  });
});
