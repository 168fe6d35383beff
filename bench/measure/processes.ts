// Reads the CPU time and resident memory of a run's processes from Linux's /proc; returns no values on other systems.

import { readFileSync } from 'node:fs';

/** Process ids by role: `engine`, `router`, `workers`, `bench` …; values within a role are added up. */
export type Processes = Readonly<Record<string, readonly number[]>>;

/** A value by role; absent when no process of the role can be read. */
export type PerProcess = Readonly<Record<string, number>>;

/** Linux reports CPU time in hundredths of a second, regardless of the frequency of its timer. */
const msPerTick = 10;
const bytesPerMiB = 2 ** 20;

/** Returns the CPU time that the processes of each role have used since their start, in milliseconds. */
export function processorMs(processes: Processes): PerProcess {
  return readEach(processes, (pid) => {
    // The second field is the name in parentheses, which may contain any character.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * msPerTick;
  });
}

/** Returns the resident memory of the processes of each role, in MiB. */
export function residentMiB(processes: Processes): PerProcess {
  return readEach(processes, (pid) => {
    const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return (Number(kibibytes) * 1_024) / bytesPerMiB;
  });
}

/** Returns how much each value has grown. */
export function difference(before: PerProcess, after: PerProcess): PerProcess {
  return Object.fromEntries(
    Object.entries(after).flatMap(([name, value]) => {
      const earlier = before[name];
      return earlier === undefined ? [] : [[name, value - earlier]];
    }),
  );
}

function readEach(processes: Processes, read: (pid: number) => number): PerProcess {
  const readings = Object.entries(processes).map(([name, pids]) => [name, pids.flatMap(readable(read))] as const);
  const known = readings.filter(([, values]) => values.length > 0);
  return Object.fromEntries(known.map(([name, values]) => [name, values.reduce((sum, value) => sum + value, 0)]));
}

/** Wraps `read` so that it returns an empty list when the process has ended, or on systems other than Linux. */
function readable(read: (pid: number) => number): (pid: number) => number[] {
  return (pid) => {
    try {
      return [read(pid)];
    } catch {
      return [];
    }
  };
}
