// Prometheus metrics of the calls to the engine: duration and errors by kind of call.

import { Counter, Histogram, type Registry } from 'prom-client';
import type { EngineCall } from '#lib/conductor/engine.ts';

/** Kinds of calls by method and path; every other call is `other`. */
const kinds: readonly (readonly [call: string, method: string, path: RegExp])[] = [
  ['start', 'POST', /^\/api\/workflow$/],
  ['report', 'POST', /^\/api\/tasks(?:$|\/(?!queue|search))/],
  ['poll', 'GET', /^\/api\/tasks\/poll\//],
  ['status', 'GET', /^\/api\/workflow\/[^/]+\/status/],
];

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Registers the metrics and returns the function to call after every call to the engine. Calls made before the engine's
 * first response to this router are not counted.
 */
export function createEngineCallMetrics(metrics: Registry): (call: EngineCall) => void {
  const registers = [metrics];
  const seconds = new Histogram({
    name: 'router_engine_call_seconds',
    help: 'Duration of calls to the engine, by call: start, report, poll, status or other',
    labelNames: ['call'],
    buckets,
    registers,
  });
  const errors = new Counter({
    name: 'router_engine_errors_total',
    help: 'Calls to the engine without a response (unreachable, interrupted) or with a 5xx (answered-5xx); calls before the first response from the engine are not counted',
    labelNames: ['call', 'error'],
    registers,
  });
  return function observe({ request, ms, outcome, isStarting = false }) {
    if (isStarting) return;
    const call = kindOf(request);
    seconds.observe({ call }, ms / 1_000);
    if (typeof outcome === 'string') errors.inc({ call, error: outcome });
    else if (outcome >= 500) errors.inc({ call, error: 'answered-5xx' });
  };
}

function kindOf({ method, path }: EngineCall['request']): string {
  return kinds.find(([, of, pattern]) => method === of && pattern.test(path))?.[0] ?? 'other';
}
