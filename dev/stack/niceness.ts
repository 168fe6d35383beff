// Sets the niceness of a process and of its scheduling group.

import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * Sets the niceness of a process (nice(2)), which its later children inherit. With autogroups (sched(7)), Linux
 * applies niceness only within a session, so the autogroup of a session leader gets the same niceness.
 * @throws Error when the user lacks the permission or the process has ended
 */
export function setNiceness(pid: number, niceness: number): void {
  setPriority(pid, niceness);
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(niceness));
  } catch (error) {
    if (!isWithoutGroups(error)) throw error;
  }
}

/** Returns true when the system is not Linux or the kernel has no autogroups. */
function isWithoutGroups(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
