// The conductor plugin: policies `admission`, `workflow` (requests become executions), `executions` and `engine-api`.

import { fileURLToPath } from 'node:url';
import { loadDefinitions } from '../../conductor/definitions/load-definitions.ts';
import type { Logger } from '../../logging/log.ts';
import type { PluginContext, RouterServices } from '../../gateway/contract.ts';
import type { Engine } from '../../conductor/engine.ts';
import { ExecutionApi } from '../../conductor/executions/execution-api.ts';
import type { Task } from '../../conductor/types.ts';
import { createAdmission } from './admission/create-admission.ts';
import { createClientParts } from './clients/create-client-parts.ts';
import { createExecutionsPolicy } from './clients/executions-policy.ts';
import { WithheldTasks } from './clients/withheld-tasks.ts';
import { connectEngine } from './engine-connections.ts';
import { createGauges, createObservation } from './observe/create-observation.ts';
import { createEngineApiPolicy } from './engine-api.ts';
import type { ExecutionsUnderWay } from './executions-under-way.ts';
import type { Parts } from './executions.ts';
import { Hints, type PeerHint, type Peers } from './hints.ts';
import { createEngineCheck, createWorkersCheck } from './readiness.ts';
import { RedisPeers } from './redis-peers.ts';
import { TaskQueues } from './task-queues.ts';
import { TaskUpdates } from './task-updates.ts';
import { Waits } from './waits.ts';
import { WorkerLimits } from './worker-limits.ts';
import { createVersions } from './versions/create-versions.ts';
import { reportMissing } from './versions/report-missing.ts';
import { createWorkflowPolicy } from './workflow.ts';
import { WorkflowShapes } from './workflow-shapes.ts';

export const version = '1.3.0';
export const policies = ['admission', 'workflow', 'executions', 'engine-api'] as const;

const rootDir = fileURLToPath(new URL('../..', import.meta.url));

/** Wires the parts that both policies share: an update that passes through one wakes a wait of the other. */
export function init({ services, registerPolicy }: PluginContext): void {
  const { config, log } = services;
  const admission = createAdmission(services);
  const versions = createVersions(services);
  const { watch, observe, handedOut, reported, withTrace } = createObservation(services, {
    observe(call) {
      admission.observe(call);
      versions.observe(call);
    },
    handedOut: (executionId) => admission.handedOut(executionId),
  });
  const engines = connectEngine(config, log, observe);
  const engine = engines.workers;
  const waits = new Waits(engines.clients, log);
  const known = { workflows: new Set<string>(), waitedFor: new Set<string>() };
  const { queues, withheld } = createQueues(engine, known, log);
  const shapes = new WorkflowShapes(engine);
  const underWay: ExecutionsUnderWay = new Map();
  const hints = new Hints(
    waits,
    queues,
    connectPeers(services, (hint) => hints.receive(hint)),
  );
  const updates = new TaskUpdates(engine, { hints, shapes, underWay, queues, log });
  const limits = new WorkerLimits({ config, engine, recall: (taskId) => updates.recall(taskId) });
  // Instances that are told of each other share their queues.
  const handsOver = config['conductor.handOver'] && config['redis.url'] === undefined;
  const parts = {
    ...{ engine, waits, queues, hints, shapes, underWay, handsOver, log, updates, limits },
    ...known,
    executions: new ExecutionApi((request) => engines.clients.request(request)),
    draining: services.draining,
    handsOut: () => !services.draining.aborted || waits.size > 0,
  };

  registerPolicy(admission.policy);
  const forClients = createClientParts(services, { ...parts, watch, versions, engine: engines.clients });
  registerPolicy(createWorkflowPolicy(config, forClients));
  registerPolicy(createExecutionsPolicy(services, forClients));
  registerPolicy(createEngineApiPolicy(config, { ...parts, handedOut, reported, withTrace }));

  const { workflows, taskDefs } = loadDefinitions(rootDir);
  const definitions = workflows.map(({ definition }) => definition);
  const taskTypes = taskDefs.map(({ definition }) => definition.name);
  services.addReadinessCheck(
    'engine',
    createEngineCheck(engine, () => [...definitions, ...versions.needed]),
  );
  services.addReadinessCheck('workers', createWorkersCheck(engine, queues, taskTypes));
  services.addReadinessNotice('engine-servers', () =>
    engines.leftOut().map((server) => `${server}: this server of the engine does not answer`),
  );
  createGauges(services, { waits, queues, calls: () => engines.calls(), taskTypes });

  services.onStop('engine', () => engines.close());
  services.onStarted(() => {
    const report = reportMissing(engine, versions.needed, log);
    services.onStop('missing versions', () => report.stop());
  });
  // Clients that still wait need workers, who get tasks until the last of them has its answer.
  const letPollsGo = () => void waits.whenIdle().then(() => queues.stop());
  services.draining.addEventListener('abort', letPollsGo, { once: true });
  services.onStop('queues', () => queues.stop());
  services.onStop('withheld tasks', () => withheld.stop());
}

/** Every task is polled past what keeps those of cancelled executions back. */
function createQueues(engine: Engine, known: Pick<Parts, 'workflows' | 'waitedFor'>, log: Logger) {
  const giveBack = (task: Task) => queues.queue({ taskType: task.taskDefName, domain: task.domain }).giveBack([task]);
  const withheld = new WithheldTasks({ engine, ...known, giveBack, log });
  const queues: TaskQueues = new TaskQueues(
    { pollTasks: (...poll) => withheld.poll(...poll), updateTask: (result) => engine.updateTask(result) },
    log,
  );
  return { queues, withheld };
}

/** With `redis.url` other instances hear what nobody here waits for; without it there are none. */
function connectPeers({ config, log, onStop }: RouterServices, receive: (hint: PeerHint) => void): Peers {
  const url = config['redis.url'];
  if (url === undefined) return { publish: () => undefined };
  const peers = new RedisPeers({ url, log, receive });
  peers.start();
  onStop('redis', () => peers.stop());
  return peers;
}
