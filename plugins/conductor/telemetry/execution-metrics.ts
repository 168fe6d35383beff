// Prometheus metrics of executions for clients: outcomes and time by stage.

import { Counter, Histogram, type Registry } from 'prom-client';
import type { ProblemCode } from '#lib/problem/catalogue.ts';
import { stages, type StageTimes } from './stage-clock.ts';

/** Outcome of an execution for its client. `deferred`: the client received 202 with the link to the execution. */
export type ExecutionOutcome = 'answered' | 'deferred' | 'client-gone' | ProblemCode;

/** Records executions. */
export interface ExecutionMetrics {
  /**
   * Counts an execution.
   * @param execution its outcome and pinned definition; workflow and version come from gateway.config.yml
   */
  ended(execution: { workflow: string; version: number; outcome: ExecutionOutcome }): void;
  /** Records the time of a request by stage. */
  took(route: string, times: StageTimes): void;
}

/** Histogram buckets in seconds; finer at the lower end than those of whole requests. */
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60];

/** Registers the metrics. */
export function createExecutionMetrics(metrics: Registry): ExecutionMetrics {
  const registers = [metrics];
  const executions = new Counter({
    name: 'router_executions_total',
    help: 'Requests for executions by pinned definition and outcome: answered by the back end, deferred (202), client-gone, or the code of a problem; replays of an Idempotency-Key are not counted',
    labelNames: ['workflow', 'version', 'outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'router_request_stage_seconds',
    help: 'Duration of requests with an execution, by stage',
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
