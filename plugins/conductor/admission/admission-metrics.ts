// Prometheus metrics of admission control.

import { Counter, Histogram, type Registry } from 'prom-client';
import { observeGauge, type Sample } from '#lib/telemetry/observed-gauge.ts';
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
  /** Records the time that an admitted request spent in the queue, in milliseconds. */
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
 * @param state called at each scrape
 */
export function createAdmissionMetrics(metrics: Registry, state: () => AdmissionState): AdmissionMetrics {
  const registers = [metrics];
  const requests = new Counter({
    name: 'router_admission_requests_total',
    help: 'Requests by class and outcome of admission control: admitted, queued (admitted from the queue), gone (the client left), or the reason for the rejection: full, too-long, expired, engine-open or back-end-open',
    labelNames: ['class', 'outcome'],
    registers,
  });
  const queueSeconds = new Histogram({
    name: 'router_admission_queue_seconds',
    help: 'Time that requests spent in the admission queue before they were admitted',
    buckets: queueBuckets,
    registers,
  });
  const transitions = new Counter({
    name: 'router_breaker_transitions_total',
    help: 'Changes of state of the circuit breakers',
    labelNames: ['breaker', 'to'],
    registers,
  });
  const limitHelp = 'Limit on executions that wait in the engine for a worker';
  observeGauge(metrics, { name: 'router_admission_limit', help: limitHelp }, () => state().limit());
  observeGauge(
    metrics,
    { name: 'router_admission_queued', help: 'Requests in the queue of admission control' },
    () => state().limiter.queued,
  );
  observeGauge(
    metrics,
    {
      name: 'router_admission_executions',
      help: 'Executions for clients by class and stage: waiting (for a worker) or with_worker',
      labelNames: ['class', 'stage'],
    },
    () => (['read', 'write'] as const).flatMap((requestClass) => executionsOf(state().limiter, requestClass)),
  );
  observeGauge(
    metrics,
    {
      name: 'router_breaker_state',
      help: 'State of a circuit breaker: 0 closed, 1 half-open, 2 open',
      labelNames: ['breaker'],
    },
    () => {
      const { engine, backEnds } = state();
      return [{ name: 'engine', breaker: engine }, ...backEnds.observed].map(({ name, breaker }) => ({
        labels: { breaker: name },
        value: stateNumbers[breaker.state],
      }));
    },
  );
  return {
    count: (requestClass, outcome) => requests.inc({ class: requestClass, outcome }),
    waited: (ms) => queueSeconds.observe(ms / 1_000),
    breakerChanged: (breaker, to) => transitions.inc({ breaker, to }),
  };
}

function executionsOf(limiter: ConcurrencyLimiter, requestClass: RequestClass): Sample[] {
  const waiting = limiter.inUse('waiting', requestClass);
  const withWorker = limiter.inUse('inFlight', requestClass) - waiting;
  return [
    { labels: { class: requestClass, stage: 'waiting' }, value: waiting },
    { labels: { class: requestClass, stage: 'with_worker' }, value: withWorker },
  ];
}
