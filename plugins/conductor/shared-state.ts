// What outlives a configuration: everything that knows of executions, tasks and workers under way, and its connections.

import { TransientMap } from '#lib/gc/transient-map.ts';
import type { Engine } from '#lib/conductor/engine.ts';
import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { Task } from '#lib/conductor/types.ts';
import type { SharedServices } from '../../gateway/plugin-api/plugin-api.ts';
import { outageNotice } from '#lib/redis/connect-redis.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { createAdmission } from './admission/create-admission.ts';
import { createClientParts } from './create-client-parts.ts';
import { WithheldTasks } from './async-executions/withheld-tasks.ts';
import { connectEngine } from './engine-connections.ts';
import type { InFlightExecutions } from './dispatch/in-flight-executions.ts';
import type { ExecutionDependencies } from './execution/executions.ts';
import { WakeUps, type PeerWakeUp, type Peers } from './dispatch/wake-ups.ts';
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

/** How long a large result waits unread, in milliseconds: less than a worker waits for the answer to it. */
const maxResultWaitMs = 10_000;

/** What the configuration in force uses. */
interface InUse {
  /** Versions that its routes may start. */
  needed: readonly NeededWorkflow[];
  /** Every task type that ships with the product. */
  taskTypes: readonly string[];
}

/** Wires the parts that all policies share: an update that passes through one wakes a wait of the other. */
export function createSharedState(services: SharedServices) {
  const { config, log, draining } = services;
  const admission = createAdmission(services);
  const versions = createVersionState(services);
  const observation = createTelemetry(services, {
    observe(call) {
      admission.observe(call);
      versions.observe(call);
    },
    handedOut: (executionId) => admission.handedOut(executionId),
  });
  const engines = connectEngine(config, log, observation.observe);
  const engine = engines.workers;
  const waits = new CompletionWaiters(engines.clients, log);
  const known = { workflows: new Set<string>(), waitedFor: new Set<string>() };
  const { queues, withheld } = createQueues(engine, known, log);
  const shapes = new WorkflowMetadataCache(engine);
  const underWay: InFlightExecutions = new TransientMap();
  const peers = connectPeers(services, (hint) => hints.receive(hint));
  const hints = new WakeUps(waits, queues, peers);
  const inUse: InUse = { needed: [], taskTypes: [] };
  const parts = {
    ...{ engine, waits, queues, hints, shapes, underWay, log, draining },
    ...known,
    executions: new ExecutionApi((request) => engines.clients.request(request)),
    updates: new TaskUpdates(engine, { hints, shapes, underWay, queues, log }),
    results: new ResultBudget({ bytes: config['router.resultBytes'], maxWaitMs: maxResultWaitMs }),
    handsOut: () => !draining.aborted || waits.size > 0,
  };
  const { results } = parts;
  createGauges(services, { waits, queues, results, calls: () => engines.calls(), taskTypes: () => inUse.taskTypes });
  const forClients = createClientParts(services, { ...parts, engine: engines.clients });

  services.addReadinessNotice('engine-servers', () =>
    engines.leftOut().map((server) => `${server}: this server of the engine does not answer`),
  );
  services.onStop('engine', () => engines.close());
  // Clients that still wait need workers, who get tasks until the last of them has its answer.
  const letPollsGo = () => void waits.whenIdle().then(() => queues.stop());
  draining.addEventListener('abort', letPollsGo, { once: true });
  services.onStop('queues', () => {
    draining.removeEventListener('abort', letPollsGo);
    return queues.stop();
  });
  services.onStop('withheld tasks', () => withheld.stop());
  return {
    ...{ admission, versions, observation, engines, parts, forClients, inUse },
    /** To be called once, after the start: a configuration that is loaded later is refused when a version is missing. */
    reportMissing() {
      const report = reportMissing(engine, () => inUse.needed, log);
      services.onStop('missing versions', () => report.stop());
    },
  };
}

export type SharedState = ReturnType<typeof createSharedState>;

/** Every task is polled past what keeps those of cancelled executions back. */
function createQueues(engine: Engine, known: Pick<ExecutionDependencies, 'workflows' | 'waitedFor'>, log: Logger) {
  const executions = new ExecutionApi((request) => engine.request(request));
  const giveBack = (task: Task) => queues.queue({ taskType: task.taskDefName, domain: task.domain }).giveBack([task]);
  const withheld = new WithheldTasks({ engine, executions, ...known, giveBack, log });
  const queues: TaskQueues = new TaskQueues(
    { pollTasks: (...poll) => withheld.poll(...poll), updateTask: (result) => engine.updateTask(result) },
    log,
  );
  return { queues, withheld };
}

/** With `redis.url` other instances hear what nobody here waits for; without it there are none. */
function connectPeers(
  { redis, log, onStop, addReadinessNotice }: SharedServices,
  receive: (hint: PeerWakeUp) => void,
): Peers {
  if (redis === undefined) return { publish: () => undefined };
  const peers = new RedisPeers({ redis, log, receive });
  addReadinessNotice('wake-ups', outageNotice(redis, 'routers find by their timers what another one has received'));
  onStop('wake-ups', () => peers.stop());
  return peers;
}
