// Reads the CPU time of the whole machine. Busy time that the bench did not use itself was used by other processes.

import { cpus } from 'node:os';

/** Time of all cores together since the machine started, in milliseconds. */
export interface MachineTime {
  readonly all: number;
  readonly busy: number;
}

export function machineTime(): MachineTime {
  const each = cpus().map(({ times }) => times);
  const all = each.reduce((sum, { user, nice, sys, idle, irq }) => sum + user + nice + sys + idle + irq, 0);
  return { all, busy: all - each.reduce((sum, { idle }) => sum + idle, 0) };
}

/** Returns the CPU time of all cores since an earlier reading. */
export function machineTimeSince(earlier: MachineTime): MachineTime {
  const { all, busy } = machineTime();
  return { all: all - earlier.all, busy: busy - earlier.busy };
}
