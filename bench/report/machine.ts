// Describes when and on which machine a run took place. Without this description, the figures of a run mean nothing.

import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { machineTime, machineTimeSince } from '../measure/machine-time.ts';
import { rootDir } from '../programs/program.ts';

export interface Circumstances {
  /** ISO 8601. */
  readonly date: string;
  /** Abbreviated hash, with `+` when the working tree had changes. */
  readonly commit: string;
  readonly machine: {
    readonly cores: number;
    readonly processor: string;
    readonly memoryGiB: number;
    readonly system: string;
  };
  readonly node: string;
  /** Version and store of the engine. */
  readonly engine: string;
  /** Share of all cores that other processes used just before the run, 0 to 1. */
  readonly busyBefore: number;
  readonly loadAverage: number;
  /** Share of all cores that other processes used during the run, 0 to 1: the median over the measurements. */
  readonly busyDuring?: number;
}

/** Share above which the report warns that the machine was busy. */
const busyAbove = 0.1;

/**
 * Returns the circumstances of a run, after measuring the load of the machine for a second. Call this function before
 * the bench starts any program.
 * @param engine description of the engine
 */
export async function lookAround(engine: string): Promise<Circumstances> {
  const busyBefore = await shareInUse();
  const processors = cpus();
  return {
    date: new Date().toISOString(),
    commit: commit(),
    machine: {
      cores: processors.length,
      processor: processors[0]?.model.trim() ?? 'unknown',
      memoryGiB: Math.round(totalmem() / 2 ** 30),
      system: `${type()} ${release()}`,
    },
    node: process.version,
    engine,
    busyBefore: Math.round(busyBefore * 100) / 100,
    loadAverage: loadavg()[0] ?? 0,
  };
}

/** Returns the circumstances as one line of text. */
export function describeCircumstances(circumstances: Circumstances): string {
  const { date, commit, machine, node, engine, busyBefore, busyDuring = busyBefore } = circumstances;
  const { cores, processor, memoryGiB } = machine;
  const busyShare = Math.max(busyBefore, busyDuring);
  const busy = busyShare > busyAbove ? ` · BUSY: other processes used ${Math.round(busyShare * 100)} % of the CPU` : '';
  return `${date.slice(0, 16)}Z · commit ${commit} · ${cores} cores (${processor}), ${memoryGiB} GiB · Node ${node} · ${engine}${busy}`;
}

async function shareInUse(): Promise<number> {
  const before = machineTime();
  await delay(1_000);
  const { busy, all } = machineTimeSince(before);
  return busy / all;
}

function commit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: rootDir, encoding: 'utf8' }).trim();
  try {
    return (
      git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', '--untracked-files=no') === '' ? '' : '+')
    );
  } catch {
    return 'unknown';
  }
}
