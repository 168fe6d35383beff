// How far a process stands back for others, on its own and with the session it leads.

import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * Everything the process starts from here on has the same niceness (nice(2)). Where Linux schedules each session as one
 * group (autogroups, sched(7)), niceness counts only inside of it: the group of a session's leader gets it as well.
 * @throws Error when this user may not, or the process has ended
 */
export function setNiceness(pid: number, niceness: number): void {
  setPriority(pid, niceness);
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(niceness));
  } catch (error) {
    if (!isWithoutGroups(error)) throw error;
  }
}

/** Another system, or a kernel without them. */
function isWithoutGroups(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
