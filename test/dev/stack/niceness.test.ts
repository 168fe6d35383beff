// Tests of the niceness of a process with several threads.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { setNiceness } from '../../../dev/stack/niceness.ts';

let program: ChildProcess | undefined;
afterEach(() => program?.kill('SIGKILL'));

describe('the niceness of a process', () => {
  it.skipIf(!existsSync('/proc/self/task'))('applies to the threads that it has already started', async () => {
    const code = 'process.send("ready"); setInterval(() => {}, 60_000)';
    program = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    await once(program, 'message');
    const pid = program.pid as number;
    const threads = readdirSync(`/proc/${pid}/task`).map(Number);
    expect(threads.length).toBeGreaterThan(1);
    const niceness = Math.min(19, getPriority() + 3);
    setNiceness(pid, niceness);
    expect(threads.map((thread) => getPriority(thread))).toEqual(threads.map(() => niceness));
  });
});
