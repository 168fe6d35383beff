// Prometheus metrics of admission control.

import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { BackEnds } from './back-ends.ts';
import type { BreakerState, CircuitBreaker } from './circuit-breaker.ts';
import type { RequestClass } from './bulkhead.ts';
import type { ConcurrencyLimiter } from './concurrency-limiter.ts';
import type { Rejection } from './fair-queue.ts';

/** Outcome of a request in admission control. */
export type AdmissionOutcome = 'admitted' | 'queued' | 'engine-open' | 'back-end-open' | Rejection;

/** Records outcomes of admission control. */
export interface AdmissionMetrics {
  /** Counts a request by class and outcome. */
  count(requestClass: RequestClass, outcome: AdmissionOutcome): void;
  /** Records the time in the queue of an admitted request, in milliseconds. */
  waited(ms: number): void;
  /** Counts a state change of a circuit breaker. */
  breakerChanged(breaker: string, to: BreakerState): void;
}

/** Sources of the gauges. */
export interface AdmissionState {
  limiter: ConcurrencyLimiter;
  limit: () => number;
  backEnds: BackEnds;
  engine: CircuitBreaker;
}

const stateNumbers: Record<BreakerState, number> = { closed: 0, 'half-open': 1, open: 2 };
const queueBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Registers the metrics.
 * @param state called at requestClass scrape
 */
export function createAdmissionMetrics(metrics: Registry, state: () => AdmissionState): AdmissionMetrics {
  const registers = [metrics];
  const requests = new Counter({
    name: 'router_admission_requests_total',
    help: 'Requests by what admission control did with them',
    labelNames: ['class', 'outcome'],
    registers,
  });
  const queueSeconds = new Histogram({
    name: 'router_admission_queue_seconds',
    help: 'Time in the queue of requests that were admitted from it',
    buckets: queueBuckets,
    registers,
  });
  const transitions = new Counter({
    name: 'router_breaker_transitions_total',
    help: 'Changes of state of the circuit breakers',
    labelNames: ['breaker', 'to'],
    registers,
  });
  const gauge = (
    options: { name: string; help: string; labelNames?: string[] },
    read: (set: (value: number, labels?: Record<string, string>) => void) => void,
  ) =>
    new Gauge({
      ...options,
      registers,
      collect() {
        this.reset();
        read((value, labels = {}) => this.set(labels, value));
      },
    });
  gauge({ name: 'router_admission_limit', help: 'Executions that may wait for a worker inside the engine' }, (set) =>
    set(state().limit()),
  );
  gauge({ name: 'router_admission_queued', help: 'Requests in the queue' }, (set) => set(state().limiter.queued));
  gauge(
    { name: 'router_admission_executions', help: 'Executions for clients', labelNames: ['class', 'stage'] },
    (set) => {
      const { limiter } = state();
      for (const requestClass of ['read', 'write'] as const) {
        set(limiter.inUse('waiting', requestClass), { class: requestClass, stage: 'waiting' });
        set(limiter.inUse('inFlight', requestClass) - limiter.inUse('waiting', requestClass), {
          class: requestClass,
          stage: 'with_worker',
        });
      }
    },
  );
  gauge({ name: 'router_breaker_state', help: '0 closed, 1 half-open, 2 open', labelNames: ['breaker'] }, (set) => {
    const { engine, backEnds } = state();
    for (const { name, breaker } of [{ name: 'engine', breaker: engine }, ...backEnds.observed])
      set(stateNumbers[breaker.state], { breaker: name });
  });
  return {
    count: (requestClass, outcome) => requests.inc({ class: requestClass, outcome }),
    waited: (ms) => queueSeconds.observe(ms / 1_000),
    breakerChanged: (breaker, to) => transitions.inc({ breaker, to }),
  };
}
