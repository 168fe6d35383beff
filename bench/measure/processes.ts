// Processor time and resident memory of the processes of a run, from Linux's /proc; empty on other systems.

import { readFileSync } from 'node:fs';

/** Process ids by role: `engine`, `router`, `workers`, `bench` …; processes with the same role are added up. */
export type Processes = Readonly<Record<string, readonly number[]>>;

/** By process; absent where it cannot be read. */
export type PerProcess = Readonly<Record<string, number>>;

/** Linux reports processor time in hundredths of a second, independent of its own clock. */
const msPerTick = 10;
const bytesPerMiB = 2 ** 20;

/** Processor time each has used since it began, in milliseconds. */
export function processorMs(processes: Processes): PerProcess {
  return readEach(processes, (pid) => {
    // The second field is the name in brackets, which may hold anything.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * msPerTick;
  });
}

/** Resident memory of each, in MiB. */
export function residentMiB(processes: Processes): PerProcess {
  return readEach(processes, (pid) => {
    const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return (Number(kibibytes) * 1_024) / bytesPerMiB;
  });
}

/** How much each reading has grown. */
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

/** Returns undefined when the process has ended, or on systems other than Linux. */
function readable(read: (pid: number) => number): (pid: number) => number[] {
  return (pid) => {
    try {
      return [read(pid)];
    } catch {
      return [];
    }
  };
}
