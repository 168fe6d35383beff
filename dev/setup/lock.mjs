// A lock file that processes share. It contains the pid of its owner, the id of the boot and the owner's start time.
// Plain JavaScript, since it runs before the installation.

import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits for the lock and acquires it. A lock whose owner has died is removed.
 * @param {string} path the lock file; its folder must exist
 * @param {{ onWait?: (pid: number) => void }} [options] `onWait` is called once when another process holds it
 * @returns {Promise<() => void>} a function that releases the lock
 */
export async function acquireLock(path, { onWait } = {}) {
  for (let hasWaited = false; ; hasWaited = true) {
    const { release, owner } = tryLock(path);
    if (release) return release;
    if (!hasWaited) onWait?.(owner);
    await delay(200);
  }
}

/**
 * Acquires the lock unless a running process holds it.
 * @param {string} path the lock file; its folder must exist
 * @returns {{ release?: () => void, owner: number }} `release` when the lock was acquired; `owner` is the pid of the
 * process that holds the lock
 */
export function tryLock(path) {
  while (!makeLock(path)) {
    const content = readText(path) ?? '';
    if (isHeld(path, content)) return { owner: pidIn(content) };
    takeAway(path, content);
  }
  ours.add(path);
  const release = () => {
    ours.delete(path);
    rmSync(path, { force: true });
  };
  return { owner: process.pid, release };
}

/** Locks that this process holds. Any other lock file with its pid is from an earlier process with the same pid. */
const ours = new Set();

function isHeld(path, content) {
  const pid = pidIn(content);
  if (pid === process.pid) return ours.has(path);
  const [, boot, startTime] = content.split(' ');
  return isAlive(pid, startTime) && isOfThisBoot(path, boot);
}

/** Creates the lock file atomically with its content; returns false when it exists. */
function makeLock(path) {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, ownContent());
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Returns the content of a lock file of this process: `<pid> <boot id> <start time>` on Linux, only the pid elsewhere.
 */
function ownContent() {
  if (bootId === undefined) return String(process.pid);
  return `${process.pid} ${bootId} ${statOf(process.pid)?.startTime ?? ''}`.trim();
}

/** Id of this boot of the machine (random(4)); undefined except on Linux. */
const bootId = readText('/proc/sys/kernel/random/boot_id');

/**
 * Returns true when the lock was acquired since the last boot. After a boot the pid may belong to another process.
 * Without boot ids, times are compared, which fails when the clock has been set or a virtual machine was paused.
 */
function isOfThisBoot(path, boot) {
  if (boot !== undefined && bootId !== undefined) return boot === bootId;
  const at = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return at > Date.now() - uptime() * 1000;
}

/** Returns the pid in the content of a lock file; 0 when there is none. */
function pidIn(content) {
  return Number.parseInt(content, 10) || 0;
}

/** Returns the content of a file without surrounding space; undefined when it cannot be read. */
function readText(path) {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Removes the lock of a dead owner; restores the lock when another process has acquired it in the meantime. */
function takeAway(path, content) {
  const away = `${path}.${process.pid}.dead`;
  try {
    renameSync(path, away);
    if (readText(away) !== content) linkSync(away, path);
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error;
  } finally {
    rmSync(away, { force: true });
  }
}

/**
 * Returns true when the process is running. Returns false for pid 0, for zombies, and when the pid now belongs to
 * another process, as after the restart of a container, which does not change the id of the boot.
 * @param {string | undefined} startTime start time of the process; undefined when it is not known
 */
function isAlive(pid, startTime) {
  if (pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== 'EPERM') return false;
  }
  const stat = statOf(pid);
  if (stat === undefined) return true;
  return stat.state !== 'Z' && (startTime === undefined || startTime === stat.startTime);
}

/**
 * Reads /proc/<pid>/stat (proc(5)): the state of a process, and its start time in clock ticks since the boot.
 * @returns {{ state: string, startTime: string } | undefined} undefined except on Linux
 */
function statOf(pid) {
  const text = readText(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // Field 2 is the name of the program in parentheses, which may contain spaces and parentheses. Field 3 follows it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[3 - 3], startTime: fields[22 - 3] };
}
