// The start time of a process, which distinguishes the process from a later one with the same pid.

import { readFileSync } from 'node:fs';

/** Returns the start time in clock ticks since the boot (proc(5), field 22); undefined except on Linux. */
export function readStartTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Field 2 is the name of the program in parentheses, which may contain spaces and parentheses. Field 3 follows it.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[22 - 3];
  } catch {
    return undefined;
  }
}
