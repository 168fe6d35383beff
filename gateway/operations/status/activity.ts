// The last ten minutes of every route in ten-second steps: requests, failures and how long they took.

import type { EndedRequest } from '../../server/access-log.ts';

/** Length of one step, in milliseconds. */
export const stepMs = 10_000;
/** Steps that are kept. */
export const stepCount = 60;
/** Bins of a quarter of a power of two, from 0.1 ms to beyond a minute: a percentile is right to a fifth. */
const binCount = 80;
const binsPerDouble = 4;
const shortestMs = 0.1;
/** Failures that are kept, the newest first. */
const mostFailures = 20;

/** One step of one route. */
export interface ActivityStep {
  readonly requests: number;
  readonly failures: number;
  /** Milliseconds; undefined without requests. */
  readonly p50: number | undefined;
  readonly p99: number | undefined;
}

export interface RouteActivity extends ActivityStep {
  readonly route: string;
  /** Over the last minute of whole steps. */
  readonly requestsPerSecond: number;
  /** The oldest first; the step that is under way is left out. */
  readonly steps: readonly ActivityStep[];
}

/** A request that the router answered with 5xx. */
export interface Failure extends EndedRequest {
  /** Milliseconds since the epoch. */
  readonly at: number;
}

interface Slot {
  step: number;
  requests: number;
  failures: number;
  readonly bins: Uint32Array;
}

/** Bounded: by the routes of gateway.config.yml, by time, and by the number of failures. */
export class Activity {
  readonly #routes = new Map<string, Slot[]>();
  readonly #failures: Failure[] = [];

  /** @param now performance.now() */
  note(request: EndedRequest, now = performance.now()): void {
    const { route, status, durationMs } = request;
    const slot = this.#slot(route, Math.floor(now / stepMs));
    slot.requests += 1;
    const bin = binOf(durationMs);
    slot.bins[bin] = (slot.bins[bin] as number) + 1;
    if (status < 500) return;
    slot.failures += 1;
    this.#failures.unshift({ ...request, at: Date.now() });
    if (this.#failures.length > mostFailures) this.#failures.pop();
  }

  get failures(): readonly Failure[] {
    return this.#failures;
  }

  /** @param now performance.now() */
  routes(now = performance.now()): RouteActivity[] {
    const current = Math.floor(now / stepMs);
    return [...this.#routes].map(([route, slots]) => {
      const kept = slots.filter(({ step }) => step > current - stepCount && step <= current);
      const steps = Array.from({ length: stepCount - 1 }, (_, index) => {
        const step = current - stepCount + 1 + index;
        return summary(kept.filter((slot) => slot.step === step));
      });
      const lastMinute = steps.slice(-60_000 / stepMs).reduce((sum, { requests }) => sum + requests, 0);
      return { route, ...summary(kept), requestsPerSecond: lastMinute / 60, steps };
    });
  }

  #slot(route: string, step: number): Slot {
    let slots = this.#routes.get(route);
    if (slots === undefined) this.#routes.set(route, (slots = []));
    const index = step % stepCount;
    const slot = (slots[index] ??= { step, requests: 0, failures: 0, bins: new Uint32Array(binCount) });
    if (slot.step === step) return slot;
    slot.bins.fill(0);
    return Object.assign(slot, { step, requests: 0, failures: 0 });
  }
}

function binOf(ms: number): number {
  const bin = Math.floor(Math.log2(Math.max(ms, shortestMs) / shortestMs) * binsPerDouble);
  return Math.min(bin, binCount - 1);
}

/** The middle of a bin, in milliseconds. */
function msOf(bin: number): number {
  return shortestMs * 2 ** ((bin + 0.5) / binsPerDouble);
}

function summary(slots: readonly Slot[]): ActivityStep {
  const requests = slots.reduce((sum, slot) => sum + slot.requests, 0);
  const failures = slots.reduce((sum, slot) => sum + slot.failures, 0);
  return { requests, failures, p50: percentile(slots, requests * 0.5), p99: percentile(slots, requests * 0.99) };
}

function percentile(slots: readonly Slot[], rank: number): number | undefined {
  if (rank === 0) return undefined;
  let seen = 0;
  for (let bin = 0; bin < binCount; bin++) {
    for (const { bins } of slots) seen += bins[bin] as number;
    if (seen >= rank) return msOf(bin);
  }
  return msOf(binCount - 1);
}
