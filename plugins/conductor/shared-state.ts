// The shared state of the plugin, kept across configurations: in-flight executions, queues, workers and connections.

import { TransientMap } from '#lib/gc/transient-map.ts';
import type { Engine } from '#lib/conductor/engine.ts';
import type { Task, TaskResult } from '#lib/conductor/types.ts';
import type { SharedServices } from '../../gateway/plugin-api/plugin-api.ts';
import { outageNotice } from '#lib/redis/connect-redis.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { createAdmission } from './admission/create-admission.ts';
import { createClientDependencies } from './create-client-parts.ts';
import { WithheldTasks } from './async-executions/withheld-tasks.ts';
import { connectEngine } from './engine-connections.ts';
import { createFinding } from './create-finding.ts';
import type { InFlightExecutions } from './dispatch/in-flight-executions.ts';
import type { ExecutionDependencies } from './execution/executions.ts';
import { WakeUps, type PeerWakeUp, type Peers } from './dispatch/wake-ups.ts';
import { createEngineCallMetrics } from './telemetry/engine-calls.ts';
import { createGauges, createTelemetry } from './telemetry/create-telemetry.ts';
import { RedisPeers } from './dispatch/redis-wake-ups.ts';
import { ResultBudget } from './dispatch/result-budget.ts';
import { TaskQueues } from './dispatch/task-queues.ts';
import { TaskUpdates } from './task-api/task-updates.ts';
import type { NeededWorkflow } from './versions/create-versions.ts';
import { reportMissing } from './report-missing.ts';
import { createVersionState } from './versions/version-state.ts';
import { CompletionWaiters } from './dispatch/completion-waiters.ts';
import { WorkflowMetadataCache } from './dispatch/workflow-metadata-cache.ts';

/** Longest wait of a large result, in milliseconds: less than a worker waits for the response to its result. */
const maxResultWaitMs = 10_000;

/** What the active configuration uses. */
interface InUse {
  /** Versions that its routes may start. */
  needed: readonly NeededWorkflow[];
  /** Every task type that the product ships. */
  taskTypes: readonly string[];
}

/** Creates the state that all policies share: a task update through one policy wakes a waiter of another. */
export function createSharedState(services: SharedServices) {
  const { config, log, draining } = services;
  const { admission, backEnds } = createAdmission(services);
  const versions = createVersionState(services);
  const telemetry = createTelemetry(services);
  const countCall = createEngineCallMetrics(services.metrics);
  const engines = connectEngine(config, log, (call) => {
    admission.observe(call);
    versions.observe(call);
    countCall(call);
  });
  const engine = engines.workers;
  const waiters = new CompletionWaiters(engines.clients, log);
  const finding = createFinding(services, engine);
  const clientExecutions = { workflows: new Set<string>(), awaited: new Set<string>(), recorder: finding.recorder };
  const { queues, withheld } = createQueues(engine, { ...clientExecutions, executions: finding.apiOf(engine) }, log);
  const metadata = new WorkflowMetadataCache(engine);
  const inFlight: InFlightExecutions = new TransientMap();
  const peers = connectPeers(services, (wakeUp) => wakeUps.receive(wakeUp));
  const wakeUps = new WakeUps(waiters, queues, peers);
  const inUse: InUse = { needed: [], taskTypes: [] };
  const dependencies = {
    ...{ engine, waiters, queues, wakeUps, metadata, inFlight, log, draining },
    ...clientExecutions,
    executions: finding.apiOf(engines.clients),
    updates: new TaskUpdates(engine, { wakeUps, metadata, inFlight, queues, log }),
    results: new ResultBudget({ bytes: config['router.resultBytes'], maxWaitMs: maxResultWaitMs }),
    handedOut(task: Task) {
      admission.handedOut(task.workflowInstanceId);
      telemetry.handedOut(task);
    },
    reported: (result: TaskResult) => telemetry.reported(result),
    withTrace: (task: Task) => telemetry.traces.withTrace(task),
    dispatchesTasks: () => !draining.aborted || waiters.size > 0,
  };
  createGauges(services, { ...dependencies, calls: () => engines.calls(), taskTypes: () => inUse.taskTypes });
  const clientDependencies = createClientDependencies(services, { ...dependencies, engine: engines.clients });

  services.addReadinessNotice('engine-servers', () =>
    engines.leftOut().map((server) => `${server}: this server of the engine does not respond`),
  );
  services.onStop('engine', () => engines.close());
  // Waiting clients need workers, so polls stay open until the last client has its response.
  const endPolls = () => void waiters.whenIdle().then(() => queues.stop());
  draining.addEventListener('abort', endPolls, { once: true });
  services.onStop('queues', () => {
    draining.removeEventListener('abort', endPolls);
    return queues.stop();
  });
  services.onStop('withheld tasks', () => withheld.stop());
  return {
    ...{ admission, backEnds, versions, telemetry, engines, finding, dependencies, clientDependencies, inUse },
    /** Call once, after the start. A configuration loaded later is rejected when a version is missing. */
    reportMissing() {
      const report = reportMissing(engine, () => inUse.needed, log);
      services.onStop('missing versions', () => report.stop());
    },
  };
}

/** The shared state of the plugin. */
export type SharedState = ReturnType<typeof createSharedState>;

/** Creates the queues, whose polls withhold the tasks of cancelled executions. */
function createQueues(
  engine: Engine,
  {
    workflows,
    awaited,
    recorder,
    executions,
  }: Pick<ExecutionDependencies, 'workflows' | 'awaited' | 'recorder' | 'executions'>,
  log: Logger,
) {
  const giveBack = (task: Task) => queues.queue({ taskType: task.taskDefName, domain: task.domain }).giveBack([task]);
  const withheld = new WithheldTasks({ engine, executions, recorder, workflows, waitedFor: awaited, giveBack, log });
  const queues: TaskQueues = new TaskQueues(
    { pollTasks: (...poll) => withheld.poll(...poll), updateTask: (result) => engine.updateTask(result) },
    log,
  );
  return { queues, withheld };
}

/** Connects to other routers through Redis; without `redis.url` there are none. */
function connectPeers(
  { redis, log, onStop, addReadinessNotice }: SharedServices,
  receive: (wakeUp: PeerWakeUp) => void,
): Peers {
  if (redis === undefined) return { publish: () => undefined };
  const peers = new RedisPeers({ redis, log, receive });
  addReadinessNotice(
    'wake-ups',
    outageNotice(redis, 'routers notice changes made through other routers only at their next timed read'),
  );
  onStop('wake-ups', () => peers.stop());
  return peers;
}
