// Sets the niceness of a process, its threads and its autogroup.

import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * Sets the niceness (nice(2)) of a process and its threads; children that it starts later inherit the value. With
 * autogroups (sched(7)), Linux applies niceness only within a session, so the autogroup of the process gets the same
 * niceness.
 * @throws Error when the user lacks the permission or the process has ended
 */
export function setNiceness(pid: number, niceness: number): void {
  setPriority(pid, niceness);
  setThreads(pid, niceness);
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(niceness));
  } catch (error) {
    if (!isWithoutGroups(error)) throw error;
  }
}

/** On Linux, every thread has a niceness of its own. Threads that start later inherit it. */
function setThreads(pid: number, niceness: number): void {
  const folder = `/proc/${pid}/task`;
  if (!existsSync(folder)) return; // Not on Linux.
  for (const thread of readdirSync(folder)) {
    try {
      setPriority(Number(thread), niceness);
    } catch {
      // The thread has ended in the meantime.
    }
  }
}

/** Returns true when the system is not Linux or the kernel has no autogroups. */
function isWithoutGroups(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
