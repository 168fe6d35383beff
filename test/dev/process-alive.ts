// Checks whether processes are running.

import { execFileSync } from 'node:child_process';

/** Returns true when the process is running. A zombie, which its parent has not reaped yet, is not. */
export function isAlive(pid: number): boolean {
  return processes().some((process) => process.pid === pid);
}

/** Returns true when a process of the group that `pid` leads, or led, is running. */
export function isGroupAlive(pid: number): boolean {
  return processes().some((process) => process.group === pid);
}

function processes(): { pid: number; group: number }[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,pgid=,stat='], { encoding: 'utf8' }).split('\n');
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , state]) => state !== undefined && !state.startsWith('Z'))
    .map(([pid, group]) => ({ pid: Number(pid), group: Number(group) }));
}
