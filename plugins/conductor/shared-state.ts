// The shared state of the plugin, kept across configurations: in-flight executions, queues, workers and connections.

import { TransientMap } from '#lib/gc/transient-map.ts';
import type { EventHandler } from '#lib/conductor/definitions/schema.ts';
import type { WorkerQueue } from '#lib/conductor/definitions/worker-queues.ts';
import type { Engine } from '#lib/conductor/engine.ts';
import type { Task, TaskResult } from '#lib/conductor/types.ts';
import type { SharedServices } from '../../gateway/plugin-api/plugin-api.ts';
import { outageNotice } from '#lib/redis/connect-redis.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { createAdmission } from './admission/create-admission.ts';
import { createClientDependencies } from './create-client-parts.ts';
import { WithheldTasks } from './async-executions/withheld-tasks.ts';
import { connectEngine } from './engine-connections.ts';
import { createExecutionLookup } from './create-execution-lookup.ts';
import { EngineNeeds } from './engine-needs.ts';
import type { KnownCompletions } from './dispatch/known-completions.ts';
import type { ExecutionDependencies } from './execution/executions.ts';
import { WakeUps, type Peers } from './dispatch/wake-ups.ts';
import { createEngineCallMetrics } from './telemetry/engine-calls.ts';
import { createGauges, createTelemetry } from './telemetry/create-telemetry.ts';
import { DirectDispatch, type DispatchPeers } from './dispatch/direct-dispatch.ts';
import { PostponedReads } from './dispatch/postponed-reads.ts';
import { RedisPeers, type RedisPeersOptions } from './dispatch/redis-peers.ts';
import { requeueTask } from './dispatch/requeue-task.ts';
import { ResultBudget } from './dispatch/result-budget.ts';
import { TaskQueues } from './dispatch/task-queues.ts';
import { TaskUpdates } from './task-api/task-updates.ts';
import type { NeededWorkflow } from './versions/create-versions.ts';
import { missingFrom } from './readiness.ts';
import { reportMissing } from './report-missing.ts';
import { createVersionState } from './versions/version-state.ts';
import { CompletionWaiters } from './dispatch/completion-waiters.ts';
import { WorkflowMetadataCache } from './dispatch/workflow-metadata-cache.ts';

/**
 * Maximum time that a large result waits to be read, in milliseconds: less than the time that a worker waits for the
 * response to its result.
 */
const maxResultWaitMs = 10_000;

/** The definitions and queues that the active configuration uses. */
interface InUse {
  /** Workflow versions that the routes of the configuration may start. */
  needed: readonly NeededWorkflow[];
  /** Queues in which the configuration schedules tasks. */
  queues: readonly WorkerQueue[];
  /** Event handlers that are shipped with the product, each active or inactive as the configuration says. */
  eventHandlers: readonly EventHandler[];
}

/**
 * Creates the state that all policies share, so that a task update through one policy can wake a waiter of another
 * policy.
 */
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
  // Registered before every component that calls the engine while stopping: stop functions run in reverse order.
  services.onStop('engine', () => engines.close());
  const engine = engines.workers;
  const waiters = new CompletionWaiters(engines.clients, log);
  const lookup = createExecutionLookup(services, engine);
  const clientExecutions = { workflows: new Set<string>(), awaited: new Set<string>(), recorder: lookup.recorder };
  const { queues, withheld } = createQueues(engine, { ...clientExecutions, executions: lookup.apiOf(engine) }, log);
  const metadata = new WorkflowMetadataCache(engine);
  const completions: KnownCompletions = new TransientMap();
  const handedOut = (task: Task) => {
    admission.handedOut(task.workflowInstanceId);
    telemetry.handedOut(task);
  };
  const dispatch = createDispatch(services, { engine, waiters, queues, metadata, completions, handedOut });
  const inUse: InUse = { needed: [], queues: [], eventHandlers: [] };
  const needs = new EngineNeeds(engine, () => inUse.eventHandlers);
  const dependencies = {
    ...{ engine, waiters, queues, metadata, completions, log, draining, handedOut },
    ...dispatch,
    ...clientExecutions,
    executions: lookup.apiOf(engines.clients),
    results: new ResultBudget({ bytes: config['router.resultBytes'], maxWaitMs: maxResultWaitMs }),
    reported: (result: TaskResult) => telemetry.reported(result),
    withTrace: (task: Task) => telemetry.traces.withTrace(task),
    dispatchesTasks: () => !draining.aborted || !waiters.isIdle,
  };
  createGauges(services, { ...dependencies, calls: () => engines.calls(), neededQueues: () => inUse.queues });
  const clientDependencies = createClientDependencies(services, { ...dependencies, engine: engines.clients });

  services.addReadinessNotice('engine-servers', () =>
    engines.leftOut().map((server) => `${server}: this engine server does not respond`),
  );
  // Waiting clients need workers, so polls stay open until the last client has its response.
  const stopQueues = async () => {
    await queues.stop();
    dispatch.directDispatch.stop();
    await withheld.stop();
  };
  const endPolls = () => void waiters.whenIdle().then(stopQueues);
  draining.addEventListener('abort', endPolls, { once: true });
  services.onStop('queues', () => {
    draining.removeEventListener('abort', endPolls);
    return stopQueues();
  });
  return {
    ...{ admission, backEnds, versions, telemetry, engines, lookup, dependencies, clientDependencies, inUse, needs },
    /**
     * Logs which definitions are not registered and which API calls the engine does not support. Call it once, after
     * the start. A configuration that is loaded later is rejected when a workflow version is missing.
     */
    reportMissing() {
      const report = reportMissing(() => findMissing(engine, needs, inUse), log);
      services.onStop('missing versions', () => report.stop());
    },
  };
}

/** The shared state of the plugin. */
export type SharedState = ReturnType<typeof createSharedState>;

/**
 * Returns one log line for each unsupported API call and each missing workflow version or event handler.
 * @throws EngineError
 */
async function findMissing(engine: Engine, needs: EngineNeeds, { needed }: InUse): Promise<string[]> {
  const calls = await needs.missingCalls();
  const versions = await missingFrom(engine, needed);
  const handlers = await needs.askForHandlers();
  return [
    ...calls,
    ...versions.map((reason) => `${reason}: requests for this version get a 503 response`),
    ...handlers,
  ];
}

/**
 * Creates the queues. Their polls withhold tasks that must not be handed out, such as those of cancelled executions.
 */
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
  const queueOf = ({ taskDefName, domain }: Task) => queues.queue({ taskType: taskDefName, domain });
  const giveBack = (task: Task) => queueOf(task).giveBack([task]);
  const onOmitted = (tasks: readonly Task[]) => tasks.forEach((task) => queueOf(task).announce());
  const requeue = (task: Task) => requeueTask(task, { engine, log });
  const withheld = new WithheldTasks({
    ...{ engine, executions, recorder, workflows, giveBack, onOmitted, requeue, log },
    waitedFor: awaited,
  });
  const queues: TaskQueues = new TaskQueues(
    { pollTasks: (...poll) => withheld.poll(...poll), updateTask: (result) => engine.updateTask(result) },
    log,
  );
  return { queues, withheld };
}

/** Creates the components that deliver tasks to workers and results to waiters, on this router or on others. */
function createDispatch(
  services: SharedServices,
  parts: Pick<ExecutionDependencies, 'engine' | 'waiters' | 'queues' | 'metadata' | 'completions'> & {
    handedOut: (task: Task) => void;
  },
) {
  const { engine, waiters, queues, metadata, completions, handedOut } = parts;
  const { log } = services;
  const peers = connectPeers(services, {
    wakeUp(wakeUp) {
      const isCompleted =
        'changed' in wakeUp && wakeUp.completed && updates.completedElsewhere(wakeUp.changed, wakeUp.completed);
      if (isCompleted !== true) wakeUps.receive(wakeUp);
    },
    dispatch: (message, from) => directDispatch.receive(message, from),
  });
  const wakeUps = new WakeUps(waiters, queues, peers);
  const directDispatch = new DirectDispatch({ queues, peers, handedOut });
  const postponedReads = new PostponedReads({ engine, directDispatch, log });
  services.onStop('postponed reads', () => postponedReads.stop());
  const updates = new TaskUpdates(engine, { wakeUps, metadata, completions, postponedReads, log });
  return { wakeUps, updates, directDispatch };
}

/** Connects to other routers through Redis. Without `redis.url`, nothing is sent to other routers. */
function connectPeers(
  { redis, log, onStop, addReadinessNotice }: SharedServices,
  receivers: Pick<RedisPeersOptions, 'wakeUp' | 'dispatch'>,
): Peers & DispatchPeers {
  if (redis === undefined)
    return { isConfigured: false, isConnected: false, publish: () => undefined, send: () => undefined };
  const peers = new RedisPeers({ redis, log, ...receivers });
  addReadinessNotice(
    'wake-ups',
    outageNotice(redis, 'routers notice changes made through other routers only when they next poll the engine'),
  );
  onStop('wake-ups', () => peers.stop());
  return peers;
}
