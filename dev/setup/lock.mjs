// A lock file between processes, with the pid of its owner and the id of the boot. Plain JavaScript, since it runs before
// the installation.

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
 * @returns {{ release?: () => void, owner: number }} `release` when the lock was acquired; `owner` is the pid that
 * holds the lock
 */
export function tryLock(path) {
  while (!makeLock(path)) {
    const owner = ownerOf(path);
    if (isHeld(path, owner)) return { owner };
    takeAway(path, owner);
  }
  ours.add(path);
  const release = () => {
    ours.delete(path);
    rmSync(path, { force: true });
  };
  return { owner: process.pid, release };
}

/** Locks of this process. Another lock file with its pid is from an earlier process with the same pid. */
const ours = new Set();

function isHeld(path, owner) {
  return owner === process.pid ? ours.has(path) : isAlive(owner) && isOfThisBoot(path);
}

/** Creates the lock file atomically with its content; returns false when it exists. */
function makeLock(path) {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, bootId === undefined ? String(process.pid) : `${process.pid} ${bootId}`);
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

/** Id of this boot of the machine (random(4)); undefined except on Linux. */
const bootId = readText('/proc/sys/kernel/random/boot_id');

/**
 * Returns true when the lock was acquired since the last boot. After a boot the pid may belong to another process.
 * Without ids, times are compared, which fails when the clock has been set or a virtual machine was paused.
 */
function isOfThisBoot(path) {
  const [, boot] = readText(path)?.split(' ') ?? [];
  if (boot !== undefined && bootId !== undefined) return boot === bootId;
  const at = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return at > Date.now() - uptime() * 1000;
}

/** Returns the pid in a lock file; 0 when the file is missing or invalid. */
function ownerOf(path) {
  return Number.parseInt(readText(path) ?? '', 10) || 0;
}

/** Returns the content of a file without surrounding space; undefined when it cannot be read. */
function readText(path) {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Removes the lock of a dead owner; restores the lock when another process has acquired it in between. */
function takeAway(path, owner) {
  const away = `${path}.${process.pid}.dead`;
  try {
    renameSync(path, away);
    if (ownerOf(away) !== owner) linkSync(away, path);
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error;
  } finally {
    rmSync(away, { force: true });
  }
}

/** Returns true when a process with this pid is running. Pid 0 and zombies are not. */
function isAlive(pid) {
  if (pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // Not on Linux.
    return true;
  }
}
