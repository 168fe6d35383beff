// Reads the resources that a router uses at one moment. After a load, these figures must return to their level before
// the load.

import { readdirSync, readFileSync } from 'node:fs';
import { readCounts } from '../stack/metrics.ts';
import type { ProgramComponent } from './component.ts';

export interface Levels {
  readonly waits: number;
  readonly heldPolls: number;
  readonly readyTasks: number;
  /** Open file descriptors, mostly sockets. */
  readonly descriptors: number;
  readonly heapMiB: number;
  readonly residentMiB: number;
}

/** Reads metrics of the router, and Linux's figures for its process. */
export async function readLevels(operationsUrl: string, pid: number): Promise<Levels> {
  const counts = await readCounts(operationsUrl);
  const metric = (name: string) => counts[name] ?? Number.NaN;
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return {
    waits: metric('router_completion_waiters'),
    heldPolls: metric('router_held_polls'),
    readyTasks: metric('router_ready_tasks'),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    heapMiB: Math.round(metric('nodejs_heap_size_used_bytes') / 1_048_576),
    residentMiB: Math.round(Number(resident) / 1_024),
  };
}

const names = {
  waits: 'waiting requests',
  heldPolls: 'held polls',
  descriptors: 'open file descriptors',
  heapMiB: 'MiB of heap',
} as const satisfies Partial<Record<keyof Levels, string>>;

/**
 * Returns the reasons why `after` is not back at the level of `before`; empty when it is. The heap may double or grow
 * by 64 MiB, whichever is more, because caches fill.
 */
export function notBack(before: Levels, after: Levels): string[] {
  const reasons: string[] = [];
  const most = (name: keyof typeof names, limit: number) => {
    if (after[name] > limit) reasons.push(`${names[name]}: ${after[name]} (before: ${before[name]})`);
  };
  most('waits', 0);
  // A worker process keeps one or two exchanges open.
  most('heldPolls', before.heldPolls + 2);
  most('descriptors', before.descriptors + 10);
  most('heapMiB', Math.max(2 * before.heapMiB, before.heapMiB + 64));
  return reasons;
}

/** Returns the number of findings that the reconcilers of these routers have not repaired. */
export async function countMissing(routers: readonly ProgramComponent[]): Promise<number> {
  const counts = await Promise.all(routers.map((each) => readCounts(String(each.program().ready['operationsUrl']))));
  const missing = counts.flatMap((each) => Object.entries(each)).filter(([series]) => series.startsWith(unreconciled));
  return missing.reduce((sum, [, count]) => sum + count, 0);
}

const unreconciled = 'router_events_unreconciled';
