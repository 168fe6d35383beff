// Computes the growth of memory: the median after the warm-up, and the median at the end.

import { median } from './figures.ts';
import type { PerProcess } from './processes.ts';

/** Memory at one moment. */
export interface Reading {
  /** Requests completed so far. */
  readonly requests: number;
  /** Resident memory by process, in MiB. */
  readonly memory: PerProcess;
}

export interface Growth {
  /** Median during the second tenth of the requests, in MiB; the first tenth is warm-up. */
  readonly before: number;
  /** Median during the last tenth, in MiB. */
  readonly after: number;
}

/** @param total number of requests in the whole run */
export function growthOf(readings: readonly Reading[], total: number): Readonly<Record<string, Growth>> {
  const names = [...new Set(readings.flatMap(({ memory }) => Object.keys(memory)))];
  const middle = (name: string, from: number, to: number) =>
    median(
      readings
        .filter(({ requests }) => requests >= from * total && requests <= to * total)
        .map(({ memory }) => memory[name] ?? Number.NaN),
    );
  return Object.fromEntries(
    names.map((name) => [name, { before: middle(name, 0.1, 0.2), after: middle(name, 0.9, 1) }]),
  );
}
