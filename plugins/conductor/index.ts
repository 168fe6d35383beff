// The conductor plugin: policies `admission`, `workflow` (requests become executions), `executions` and `engine-api`.

import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { Config } from '#lib/config/schema.ts';
import type { PluginContext } from '../../gateway/plugin-api/plugin-api.ts';
import { admissionDeclaration, createAdmissionPolicy } from './admission/admission-policy.ts';
import { createAnswerOptions } from './create-client-parts.ts';
import { createExecutionsPolicy, executionsDeclaration } from './async-executions/executions-policy.ts';
import { createLinks, type LinksOf } from './execution/links.ts';
import { createEngineApiPolicy, engineApiDeclaration } from './task-api/engine-api.ts';
import { createSharedState, type SharedState } from './shared-state.ts';
import { IdempotentStart } from './idempotency/idempotent-start.ts';
import { createAddedCheck, createEngineCheck, createWorkersCheck } from './readiness.ts';
import type { WorkflowDependencies } from './workflow/serve-request.ts';
import { WorkerLimits } from './task-api/worker-limits.ts';
import { createVersions, type Versions } from './versions/create-versions.ts';
import { createWorkflowPolicy } from './workflow/workflow.ts';
import { placesOf, workflowDeclaration } from './workflow/workflow-declaration.ts';

export const version = '1.4.0';
export const policies = [admissionDeclaration, workflowDeclaration, executionsDeclaration, engineApiDeclaration];

/** Deadline of a call to the engine for a request that is refused unless its key has a response, in milliseconds. */
const recordedMs = 2_000;

/** Policies of one configuration, on the parts that outlive it. */
export function init({ services, registerPolicy }: PluginContext): void {
  const { config, definitions, routes } = services;
  const room = services.share('conductor', [], createSharedState);
  const { parts, admission, observation, inUse } = room;
  const { engine, queues, updates, shapes } = parts;
  const places = placesOf(routes);
  const versions = createVersions(services, room.versions, places);
  const { needed } = versions;
  const shipped = definitions.workflows.map(({ definition }) => definition);
  const taskTypes = definitions.taskDefs.map(({ definition }) => definition.name);

  registerPolicy(createAdmissionPolicy(admission.admission, admission.backEnds, config['router.maxBodyBytes']));
  const serveParts = servePartsOf(room, config, { versions, linksOf: createLinks(routes) });
  registerPolicy(createWorkflowPolicy(config, serveParts));
  registerPolicy(createExecutionsPolicy(config, { ...serveParts, longPolls: room.forClients.longPolls }));
  const limits = new WorkerLimits({ config, engine, recall: (taskId) => updates.recall(taskId) });
  registerPolicy(createEngineApiPolicy(config, { ...parts, ...observation, limits }));

  services.addReadinessCheck(
    'engine',
    createEngineCheck(engine, () => [...shipped, ...needed]),
  );
  services.addReadinessCheck('workers', createWorkersCheck(engine, queues, taskTypes));
  services.addActivationCheck('definitions', createAddedCheck(engine, { needed, inUse: () => inUse.needed }));
  services.onActivate(() => {
    Object.assign(inUse, { needed, taskTypes });
    // Clients still find what they started under an earlier configuration.
    for (const { workflow } of places.values()) parts.workflows.add(workflow);
    shapes.forget();
  });
  services.onStarted(() => room.reportMissing());
}

function servePartsOf(
  { parts, observation, engines, forClients }: SharedState,
  config: Config,
  { versions, linksOf }: { versions: Versions; linksOf: LinksOf },
): WorkflowDependencies {
  const { claims, keyRequests, deferred } = forClients;
  const answers = createAnswerOptions(config, linksOf);
  const callMs = config['conductor.timeoutMs'];
  return {
    ...{ ...parts, engine: engines.clients, watch: observation.watch, versions, answers, deferred },
    // Instances that are told of each other share their queues.
    handsOver: config['conductor.handOver'] && config['redis.url'] === undefined,
    once: new IdempotentStart({
      ...{ claims, linksOf, callMs },
      ...{ executions: parts.executions, codec: answers.codec, requests: keyRequests },
      recorded: new ExecutionApi((call) =>
        engines.clients.request({ timeoutMs: Math.min(recordedMs, callMs), ...call }),
      ),
    }),
  };
}
