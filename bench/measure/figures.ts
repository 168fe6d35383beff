// Computes figures from samples: percentiles, rates, and medians of several repetitions.

import type { Sample } from './closed-loop.ts';
import type { MachineTime } from './machine-time.ts';
import type { PerProcess } from './processes.ts';

/** The figures of one measurement. Latencies are in milliseconds; they are NaN when no request succeeded. */
export interface Figures {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly requestsPerSecond: number;
  readonly requests: number;
  readonly failures: number;
  readonly firstFailure?: string;
  /** Calls that the engine served per request; absent when they were not counted. */
  readonly engineCallsPerRequest?: number;
  /** Calls that the back end served per request, above 1 when tasks ran twice; absent when calls are not counted. */
  readonly backEndCallsPerRequest?: number;
  /** CPU time per request in milliseconds, by process; `others` are the processes that do not belong to the bench. */
  readonly processorMs: PerProcess;
  /** Share of all cores that other processes used during the sample, 0 to 1. */
  readonly othersShare: number;
}

/** Counts during a sample. */
export interface Counted {
  /** Calls that the engine served; absent when they were not counted. */
  readonly engineCalls?: number;
  /** Calls that the back end served; absent when they are not counted. */
  readonly backEndCalls?: number;
  /** CPU time by process, in milliseconds. */
  readonly processorMs: PerProcess;
  /** Time of all cores together, in milliseconds. */
  readonly machine: MachineTime;
}

/** Returns the figures of a sample. @param counted counts during the sample */
export function figuresOf(sample: Sample, counted: Counted): Figures {
  const { engineCalls, backEndCalls, processorMs, machine } = counted;
  const { latencies, failures, firstFailure, elapsedSeconds } = sample;
  const requests = latencies.length;
  const others = Math.max(0, machine.busy - Object.values(processorMs).reduce((sum, ms) => sum + ms, 0));
  return {
    p50: percentile(latencies, 50),
    p90: percentile(latencies, 90),
    p99: percentile(latencies, 99),
    requestsPerSecond: elapsedSeconds === 0 ? 0 : requests / elapsedSeconds,
    requests,
    failures,
    ...(firstFailure === undefined ? {} : { firstFailure }),
    ...(engineCalls === undefined || requests === 0 ? {} : { engineCallsPerRequest: engineCalls / requests }),
    ...(backEndCalls === undefined || requests === 0 ? {} : { backEndCallsPerRequest: backEndCalls / requests }),
    processorMs: requests === 0 ? {} : mapValues({ ...processorMs, others }, (ms) => ms / requests),
    othersShare: others / machine.all,
  };
}

/**
 * Returns the percentile by nearest rank: the smallest value that `percent` % of all values do not exceed; NaN without
 * values.
 */
export function percentile(ascending: readonly number[], percent: number): number {
  return ascending[Math.max(0, Math.ceil((percent / 100) * ascending.length) - 1)] ?? Number.NaN;
}

/** Returns the medians of several repetitions, figure by figure; requests and failures are added up. */
export function middleOf(repetitions: readonly Figures[]): Figures {
  const middle = (read: (figures: Figures) => number) => median(repetitions.map(read));
  const total = (read: (figures: Figures) => number) => repetitions.reduce((sum, figures) => sum + read(figures), 0);
  const calls = repetitions.flatMap(({ engineCallsPerRequest }) => engineCallsPerRequest ?? []);
  const backEndCalls = repetitions.flatMap(({ backEndCallsPerRequest }) => backEndCallsPerRequest ?? []);
  const firstFailure = repetitions.find((figures) => figures.firstFailure !== undefined)?.firstFailure;
  return {
    p50: middle(({ p50 }) => p50),
    p90: middle(({ p90 }) => p90),
    p99: middle(({ p99 }) => p99),
    requestsPerSecond: middle(({ requestsPerSecond }) => requestsPerSecond),
    requests: total(({ requests }) => requests),
    failures: total(({ failures }) => failures),
    ...(firstFailure === undefined ? {} : { firstFailure }),
    ...(calls.length === 0 ? {} : { engineCallsPerRequest: median(calls) }),
    ...(backEndCalls.length === 0 ? {} : { backEndCallsPerRequest: median(backEndCalls) }),
    processorMs: mapValues(repetitions[0]?.processorMs ?? {}, (_, name) =>
      middle(({ processorMs }) => processorMs[name] ?? Number.NaN),
    ),
    othersShare: middle(({ othersShare }) => othersShare),
  };
}

/** Returns the median; NaN without values. */
export function median(values: readonly number[]): number {
  const ascending = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  const upper = Math.floor(ascending.length / 2);
  const high = ascending[upper] ?? Number.NaN;
  return ascending.length % 2 === 1 ? high : (high + (ascending[upper - 1] ?? Number.NaN)) / 2;
}

function mapValues(values: PerProcess, change: (value: number, name: string) => number): PerProcess {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]));
}
