// Tests of the lock file, which only one process can hold at a time.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir, uptime } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acquireLock, tryLock } from '../../../dev/setup/lock.mjs';
import { pollUntil } from '../../stack/poll-until.ts';

/** Exists only on Linux. */
const bootFile = '/proc/sys/kernel/random/boot_id';
const bootId = existsSync(bootFile) ? readFileSync(bootFile, 'utf8').trim() : '';

/** Returns the start time in clock ticks since boot, field 22 of /proc/<pid>/stat (proc(5)); empty except on Linux. */
function startTimeOf(pid: number): string {
  const file = `/proc/${pid}/stat`;
  return existsSync(file) ? (/^.*\)(?: \S+){19} (\d+) /s.exec(readFileSync(file, 'utf8'))?.[1] ?? '') : '';
}

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'));
  path = join(folder, 'a.lock');
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('a lock', () => {
  it('contains the pid and the start time of its process, and the boot id, until it is released', async () => {
    const release = await acquireLock(path);
    expect(readFileSync(path, 'utf8')).toBe([process.pid, bootId, startTimeOf(process.pid)].join(' ').trim());
    release();
    expect(existsSync(path)).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('that this process holds cannot be acquired a second time', () => {
    const { release } = tryLock(path);
    expect(tryLock(path)).toEqual({ owner: process.pid });
    release?.();
    expect(tryLock(path).release).toBeTypeOf('function');
  });

  it('that an earlier process with the same pid left behind is replaced', () => {
    writeFileSync(path, String(process.pid));
    expect(tryLock(path).release).toBeTypeOf('function');
  });

  it('of a process that has ended is replaced', () => {
    const { pid } = spawnSync('true');
    writeFileSync(path, String(pid));
    expect(tryLock(path).owner).toBe(process.pid);
  });

  it('of a running process is left to it', async () => {
    const owner = spawn('sleep', ['60']);
    writeFileSync(path, String(owner.pid));
    const { release, owner: named } = tryLock(path);
    expect(release).toBeUndefined();
    expect(named).toBe(owner.pid);
    owner.kill('SIGKILL');
    await once(owner, 'exit');
  });

  it('from before the last boot is replaced, whichever process has that pid now', () => {
    writeFileSync(path, String(process.ppid));
    const beforeBoot = Date.now() / 1000 - uptime() - 60;
    utimesSync(path, beforeBoot, beforeBoot);
    expect(tryLock(path).owner).toBe(process.pid);
  });

  it.skipIf(bootId === '')('of this boot is left to its process, whatever the clock says', () => {
    writeFileSync(path, `${process.ppid} ${bootId}`);
    const beforeBoot = Date.now() / 1000 - uptime() - 60;
    utimesSync(path, beforeBoot, beforeBoot);
    expect(tryLock(path)).toEqual({ owner: process.ppid });
  });

  it.skipIf(bootId === '')('of another boot is replaced, whatever the clock says', () => {
    writeFileSync(path, `${process.ppid} 6a1f5f3e-0000-4000-8000-000000000000`);
    expect(tryLock(path).owner).toBe(process.pid);
  });

  it.skipIf(bootId === '')('of a process with that pid and start time is left to it', () => {
    writeFileSync(path, `${process.ppid} ${bootId} ${startTimeOf(process.ppid)}`);
    expect(tryLock(path)).toEqual({ owner: process.ppid });
  });

  it.skipIf(bootId === '')('of an earlier process whose pid now belongs to another process is replaced', () => {
    writeFileSync(path, `${process.ppid} ${bootId} ${Number(startTimeOf(process.ppid)) - 1}`);
    expect(tryLock(path).owner).toBe(process.pid);
  });

  it.skipIf(bootId === '')('is left to its process, whatever the name of that process', async () => {
    const name = 'node) Z 1 (a';
    const owner = spawn(process.execPath, ['-e', `process.title = '${name}'; setInterval(() => {}, 60_000)`]);
    const stat = `/proc/${owner.pid}/stat`;
    await pollUntil('the owner to have its name', () => readFileSync(stat, 'utf8').includes(`(${name}) `));
    writeFileSync(path, `${owner.pid} ${bootId} ${startTimeOf(owner.pid as number)}`);
    expect(tryLock(path)).toEqual({ owner: owner.pid });
    owner.kill('SIGKILL');
    await once(owner, 'exit');
  });

  it.each(['', 'nonsense', '0'])('with the content "%s" is replaced', (content) => {
    writeFileSync(path, content);
    expect(tryLock(path).owner).toBe(process.pid);
  });

  it('that another process holds is waited for, and onWait is called once', async () => {
    const owner = spawn('sleep', ['60']);
    writeFileSync(path, String(owner.pid));
    const told: number[] = [];
    const acquired = acquireLock(path, { onWait: (pid) => told.push(pid) });
    await pollUntil('the call of onWait', () => told.length === 1);
    owner.kill('SIGKILL');
    (await acquired)();
    expect(told).toEqual([owner.pid]);
  });

  it('is held by one process at a time, however many want it', async () => {
    const lock = fileURLToPath(new URL('../../../dev/setup/lock.mjs', import.meta.url));
    const log = join(folder, 'log');
    const code = `
      const { acquireLock } = await import(${JSON.stringify(lock)});
      const { appendFileSync } = await import('node:fs');
      const release = await acquireLock(${JSON.stringify(path)});
      appendFileSync(${JSON.stringify(log)}, 'in\\n');
      await new Promise((resolve) => setTimeout(resolve, 50));
      appendFileSync(${JSON.stringify(log)}, 'out\\n');
      release();`;
    const children = Array.from({ length: 4 }, () => spawn(process.execPath, ['--input-type=module', '-e', code]));
    await Promise.all(children.map((child) => once(child, 'exit')));
    expect(readFileSync(log, 'utf8')).toBe('in\nout\n'.repeat(4));
  });
});
