// Reads the start time of a process, which distinguishes it from a later process with the same pid.

import { readFileSync } from 'node:fs';

/**
 * Returns the start time in clock ticks since boot (proc(5), field 22). Returns undefined when there is no such
 * process, and on systems other than Linux.
 */
export function readStartTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Field 2 is the name of the program in parentheses; the name may itself contain spaces and parentheses. Field 3
    // begins after the last closing parenthesis.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[22 - 3];
  } catch {
    return undefined;
  }
}
