// What executions for clients show of themselves: how they ended, and where their time went.

import { Counter, Histogram, type Registry } from 'prom-client';
import type { ProblemCode } from '#lib/problem/catalogue.ts';
import { stages, type StageTimes } from './stage-clock.ts';

/** How an execution ended for its client; `deferred`: it was told where to look. */
export type ExecutionOutcome = 'answered' | 'deferred' | 'client-gone' | ProblemCode;

export interface ExecutionMetrics {
  /** @param execution the pinned definition: both come from gateway.config.yml */
  ended(execution: { workflow: string; version: number; outcome: ExecutionOutcome }): void;
  took(route: string, times: StageTimes): void;
}

/** Seconds; finer at the start than those of whole requests. */
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60];

export function createExecutionMetrics(metrics: Registry): ExecutionMetrics {
  const registers = [metrics];
  const executions = new Counter({
    name: 'router_executions_total',
    help: 'Executions for clients by pinned definition and by what their client was answered',
    labelNames: ['workflow', 'version', 'outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'router_request_stage_seconds',
    help: 'Where the time of a request with an execution went',
    labelNames: ['route', 'stage'],
    buckets,
    registers,
  });
  return {
    ended: ({ workflow, version, outcome }) => executions.inc({ workflow, version, outcome }),
    took(route, times) {
      for (const stage of stages) {
        if (times[stage] > 0) seconds.observe({ route, stage }, times[stage] / 1_000);
      }
    },
  };
}
