// A lock between processes of one user: a file that holds the pid of its owner. Plain JavaScript, for it runs before anything is installed.

import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits until the lock is ours. A lock whose owner has died is taken over.
 * @param {string} path the lock file; its folder must exist
 * @param {{ onWait?: (pid: number) => void }} [options] `onWait` is called once when another process holds it
 * @returns {Promise<() => void>} releases it
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
 * Takes the lock when nobody who lives holds it.
 * @param {string} path the lock file; its folder must exist
 * @returns {{ release?: () => void, owner: number }} `release` when it is ours; `owner` is the pid that holds it
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

/** Locks this process holds: a file with our pid that is not among them is from a process that had it before us. */
const ours = new Set();

function isHeld(path, owner) {
  return owner === process.pid ? ours.has(path) : isAlive(owner) && isSinceBoot(path);
}

/** Makes the file with its content in one step; false when there is one. */
function makeLock(path) {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, String(process.pid));
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

/** A lock from before the last boot: its owner's pid belongs to somebody else by now. */
function isSinceBoot(path) {
  const at = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return at > Date.now() - uptime() * 1000;
}

/** The pid in a lock file; 0 when there is none. */
function ownerOf(path) {
  try {
    return Number.parseInt(readFileSync(path, 'utf8'), 10) || 0;
  } catch {
    return 0;
  }
}

/** Removes a dead owner's lock; what somebody else locked in between is put back. */
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

/** Whether a process with this pid lives; 0 does not, nor does one that only waits to be collected. */
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
