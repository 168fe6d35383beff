// Creates the telemetry of executions, and the metrics of held polls, large results and workers.

import { Counter } from 'prom-client';
import type { WorkerQueue } from '#lib/conductor/definitions/worker-queues.ts';
import { observeGauge } from '#lib/telemetry/observed-gauge.ts';
import type { SharedServices } from '../../../gateway/plugin-api/plugin-api.ts';
import type { ResultBudget } from '../dispatch/result-budget.ts';
import type { TaskQueues } from '../dispatch/task-queues.ts';
import type { CompletionWaiters } from '../dispatch/completion-waiters.ts';
import { createExecutionMetrics } from './execution-metrics.ts';
import { TelemetryIndex } from './telemetry-index.ts';

/** Creates the telemetry of executions and registers its metrics. */
export function createTelemetry({ config, metrics, tracer }: SharedServices): TelemetryIndex {
  return new TelemetryIndex({
    metrics: createExecutionMetrics(metrics),
    tracer,
    get timingScope() {
      return config['router.timingScope'];
    },
  });
}

/** Sources from which {@link createGauges} reads the values at each scrape. */
export interface GaugeSources {
  readonly waiters: CompletionWaiters;
  readonly queues: TaskQueues;
  readonly results: ResultBudget;
  readonly calls: () => number;
  /** Returns the queues in which the active configuration schedules tasks. */
  readonly neededQueues: () => readonly WorkerQueue[];
}

/** Registers the metrics of waiting clients, held polls, ready tasks, large results, engine calls and workers. */
export function createGauges(
  { metrics }: Pick<SharedServices, 'metrics'>,
  { waiters, queues, results, calls, neededQueues }: GaugeSources,
): void {
  const gauge = (name: string, help: string, read: () => number) => observeGauge(metrics, { name, help }, read);
  gauge(
    'router_completion_waiters',
    'Clients that wait for the end of an execution, and asynchronous executions (202) whose end the router waits for',
    () => waiters.size,
  );
  gauge('router_held_polls', 'Worker polls held by this router', () => queues.heldPolls);
  gauge('router_ready_tasks', 'Tasks at this router that no worker has taken yet', () => queues.readyTasks);
  gauge('router_result_bytes', 'Bytes of large results that are being processed', () => results.held);
  gauge('router_results_waiting', 'Large task results that are queued and not read yet', () => results.waiting);
  new Counter({
    name: 'router_engine_calls_total',
    help: 'Calls made to the engine since the start',
    registers: [metrics],
    collect() {
      this.reset();
      this.inc(calls());
    },
  });
  observeGauge(
    metrics,
    {
      name: 'router_worker_last_poll_seconds',
      help: 'Time since a worker last polled this router for a task type in a task domain; +Inf before the first poll',
      labelNames: ['task_type', 'domain'],
    },
    () =>
      neededQueues().flatMap(({ taskType, domain, isExpected }) => {
        const value = queues.sincePollMs({ taskType, domain }) / 1_000;
        const isListed = isExpected || value < Number.POSITIVE_INFINITY;
        return isListed ? [{ labels: { task_type: taskType, domain: domain ?? '' }, value }] : [];
      }),
  );
}
