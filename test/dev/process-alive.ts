// Checks whether processes are running.

import { execFileSync } from 'node:child_process';

/** Returns true when the process is running; false for a zombie, which its parent has not reaped yet. */
export function isAlive(pid: number): boolean {
  return processes().some((process) => process.pid === pid);
}

/** Returns true when a process of the group that `pid` leads, or led, is running. */
export function isGroupAlive(pid: number): boolean {
  return processes().some((process) => process.group === pid);
}

/** Returns true when the watcher of the process is running (dev/setup/exit-with-parent.sh). */
export function isWatched(pid: number): boolean {
  return processes().some(({ command }) => command.endsWith(`exit-with-parent.sh ${pid}`));
}

function processes(): { pid: number; group: number; command: string }[] {
  const lines = execFileSync('ps', ['-A', '-ww', '-o', 'pid=,pgid=,stat=,args='], { encoding: 'utf8' }).split('\n');
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , state]) => state !== undefined && !state.startsWith('Z'))
    .map(([pid, group, , ...command]) => ({ pid: Number(pid), group: Number(group), command: command.join(' ') }));
}
