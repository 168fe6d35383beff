// Whether processes live, for tests that end some.

import { execFileSync } from 'node:child_process';

/** A zombie, ended but not yet collected by its parent, does not live. */
export function isAlive(pid: number): boolean {
  return processes().some((process) => process.pid === pid);
}

/** Whether anything of the process group that `pid` leads, or led, lives. */
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
