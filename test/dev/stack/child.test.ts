// Tests of child processes: readiness, signals, and their end when the launcher is killed.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { type Child, type ChildOptions, describeEnding, startChild } from '../../../dev/stack/child.ts';
import { CollectedOutput } from '../collected-output.ts';
import { pollUntil } from '../../stack/poll-until.ts';
import { isAlive, isGroupAlive, isWatched } from '../process-alive.ts';
import { requires } from '../../run/requirements.ts';

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

const started: Child[] = [];
const output = new CollectedOutput();

function start(name: string, options: Partial<ChildOptions> & { parameters?: string[] } = {}): Child {
  const { parameters = [], ...rest } = options;
  const args = [fixture(name), ...parameters];
  const child = startChild({ command: process.execPath, args, env: process.env, output, ...rest });
  started.push(child);
  return child;
}

afterEach(async () => {
  for (const child of started.splice(0)) {
    child.kill();
    await child.ended;
  }
  output.text = '';
});

describe('a child', () => {
  it('that sends its ready message is ready with the values in it', async () => {
    const child = start('stays.ts', { parameters: ['one', 'two words'] });
    await expect(child.ready).resolves.toEqual({ pid: child.pid });
    expect(output.text).toBe('started one two words\n');
  });

  it('gets every variable of its environment, including those whose names are not identifiers', async () => {
    const child = start('reports-variable.ts', { env: { ...process.env, 'client.demo.misCodes': '001,002' } });
    await expect(child.ready).resolves.toEqual({ value: '001,002' });
  });

  it('runs with the given niceness', async () => {
    const niceness = Math.min(19, getPriority() + 3);
    const child = start('stays.ts', { niceness });
    await child.ready;
    expect(getPriority(child.pid as number)).toBe(niceness);
  });

  it('lowers the priority of its whole session where the system groups sessions', requires('autogroup'), async () => {
    const child = start('stays.ts', { niceness: 7 });
    await child.ready;
    expect(readFileSync(`/proc/${child.pid}/autogroup`, 'utf8')).toMatch(/ nice 7$/m);
  });

  it('that is stopped gets SIGTERM once and ends with its own exit code', async () => {
    const child = start('stays.ts');
    await child.ready;
    await expect(child.stop()).resolves.toEqual({ code: 0, signal: null });
    expect(output.text.match(/got SIGTERM/g)).toHaveLength(1);
  });

  it('that ignores SIGTERM is killed after its deadline', async () => {
    const child = start('ignores-sigterm.ts', { stopDeadlineMs: 1_500 });
    await child.ready;
    await expect(child.stop()).resolves.toEqual({ code: null, signal: 'SIGKILL' });
    expect(output.text).toContain('SIGTERM is ignored');
  });

  it('that ends before it is ready rejects `ready` with its exit code', async () => {
    const child = start('dies.ts');
    await expect(child.ready).rejects.toThrow('ended before it was ready: exit code 3');
    expect(output.text).toContain('first line');
  });

  it('ends when it is stopped before it is ready', async () => {
    const child = start('stays.ts');
    const { signal, code } = await child.stop();
    expect(signal === 'SIGTERM' || code === 0).toBe(true);
  });

  it('whose command does not exist rejects `ready` with the name of the command', async () => {
    const child = start('stays.ts', { command: '/nowhere/program', waitUntilReady: () => new Promise(() => {}) });
    await expect(child.ready).rejects.toThrow('ended before it was ready: spawn /nowhere/program ENOENT');
  });

  it('with its own probe is ready when the probe succeeds', async () => {
    const server = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const child = start('stays.ts', {
      waitUntilReady: async () => ({ status: (await fetch(`http://127.0.0.1:${port}`)).status }),
    });
    await expect(child.ready).resolves.toEqual({ status: 200 });
    server.close();
  });

  it('leaves no watcher behind once it has ended', async () => {
    const child = start('stays.ts');
    await child.ready;
    const pid = child.pid as number;
    expect(isWatched(pid)).toBe(true);
    await child.stop();
    await pollUntil('the process group to be empty', () => !isGroupAlive(pid));
    await pollUntil('the watcher to end', () => !isWatched(pid));
  });
});

describe('a launcher that is killed', () => {
  it('leaves none of its children running, whether they handle signals or not', async () => {
    const launcher = spawn(process.execPath, [fixture('launcher.ts')], { stdio: ['ignore', 'pipe', 'inherit'] });
    const pids = await readPids(launcher);
    expect(pids.map(isAlive)).toEqual([true, true, true]);
    launcher.kill('SIGKILL');
    await pollUntil('all children to end', () => !pids.some(isAlive));
    await pollUntil('their process groups to be empty', () => !pids.some(isGroupAlive));
    await pollUntil('their watchers to end', () => !pids.some(isWatched));
  });
});

describe('describeEnding', () => {
  it('names the code, the signal or the error', () => {
    expect(describeEnding({ code: 1, signal: null })).toBe('exit code 1');
    expect(describeEnding({ code: null, signal: 'SIGKILL' })).toBe('SIGKILL');
    expect(describeEnding({ code: null, signal: null, error: new Error('no such image') })).toBe('no such image');
  });
});

async function readPids(launcher: ChildProcess): Promise<number[]> {
  const [chunk] = (await once(launcher.stdout!, 'data')) as [Buffer];
  return JSON.parse(chunk.toString()) as number[];
}
