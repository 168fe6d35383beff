// The conductor plugin: policies `admission`, `workflow` (requests become executions), `executions` and `engine-api`.

import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { Config } from '#lib/config/schema.ts';
import type { PluginContext } from '../../gateway/plugin-api/plugin-api.ts';
import { admissionDeclaration, createAdmissionPolicy } from './admission/admission-policy.ts';
import { createResponseOptions } from './create-client-parts.ts';
import { createExecutionsPolicy, executionsDeclaration } from './async-executions/executions-policy.ts';
import { createLinks, type LinksOf } from './execution/links.ts';
import { createEngineApiPolicy, engineApiDeclaration } from './task-api/engine-api.ts';
import { createSharedState, type SharedState } from './shared-state.ts';
import { IdempotentStart } from './idempotency/idempotent-start.ts';
import { createActivationCheck, createEngineCheck, createWorkersCheck } from './readiness.ts';
import type { WorkflowDependencies } from './workflow/serve-request.ts';
import { WorkerLimits } from './task-api/worker-limits.ts';
import { createVersions, type Versions } from './versions/create-versions.ts';
import { createWorkflowPolicy } from './workflow/workflow.ts';
import { workflowStepsOf, workflowDeclaration } from './workflow/workflow-declaration.ts';

/** Version of the plugin. */
export const version = '1.4.0';
/** Policies that the plugin declares. */
export const policies = [admissionDeclaration, workflowDeclaration, executionsDeclaration, engineApiDeclaration];

/** Time-out of the engine call that looks up the recorded response of a rejected request, in milliseconds. */
const recordedTimeoutMs = 2_000;

/** Registers the policies and checks of one configuration, on the state that configurations share. */
export function init({ services, registerPolicy }: PluginContext): void {
  const { config, definitions, routes } = services;
  const sharedState = services.share('conductor', [], createSharedState);
  const { dependencies, admission, telemetry, inUse } = sharedState;
  const { engine, queues, updates, metadata } = dependencies;
  const workflowSteps = workflowStepsOf(routes);
  const versions = createVersions(services, sharedState.versions, workflowSteps);
  const { needed } = versions;
  const shipped = definitions.workflows.map(({ definition }) => definition);
  const taskTypes = definitions.taskDefs.map(({ definition }) => definition.name);

  registerPolicy(createAdmissionPolicy(admission.admission, admission.backEnds, config['router.maxBodyBytes']));
  const workflowDependencies = createWorkflowDependencies(sharedState, config, {
    versions,
    linksOf: createLinks(routes),
  });
  registerPolicy(createWorkflowPolicy(config, workflowDependencies));
  registerPolicy(
    createExecutionsPolicy(config, {
      ...workflowDependencies,
      answers: workflowDependencies.responseOptions,
      longPolls: sharedState.clientDependencies.longPolls,
    }),
  );
  const limits = new WorkerLimits({ config, engine, recall: (taskId) => updates.recall(taskId) });
  registerPolicy(createEngineApiPolicy(config, { ...dependencies, ...telemetry, limits }));

  services.addReadinessCheck(
    'engine',
    createEngineCheck(engine, () => [...shipped, ...needed]),
  );
  services.addReadinessCheck('workers', createWorkersCheck(engine, queues, taskTypes));
  services.addActivationCheck('definitions', createActivationCheck(engine, { needed, inUse: () => inUse.needed }));
  services.onActivate(() => {
    Object.assign(inUse, { needed, taskTypes });
    // Clients still find executions that they started under a previous configuration.
    for (const { workflow } of workflowSteps.values()) dependencies.workflows.add(workflow);
    metadata.clear();
  });
  services.onStarted(() => sharedState.reportMissing());
}

function createWorkflowDependencies(
  { dependencies, telemetry, engines, clientDependencies }: SharedState,
  config: Config,
  { versions, linksOf }: { versions: Versions; linksOf: LinksOf },
): WorkflowDependencies {
  const { locks: claims, keyRequests, asyncExecutions } = clientDependencies;
  const responseOptions = createResponseOptions(config, linksOf);
  const callMs = config['conductor.timeoutMs'];
  return {
    ...{
      ...dependencies,
      engine: engines.clients,
      telemetry: telemetry.watch,
      versions,
      responseOptions,
      asyncExecutions,
    },
    // Routers that share Redis serve the same queues.
    dispatchesDirectly: config['conductor.handOver'] && config['redis.url'] === undefined,
    idempotentStart: new IdempotentStart({
      ...{ claims, linksOf, callMs },
      ...{ executions: dependencies.executions, codec: responseOptions.codec, requests: keyRequests },
      recorded: new ExecutionApi((call) =>
        engines.clients.request({ timeoutMs: Math.min(recordedTimeoutMs, callMs), ...call }),
      ),
    }),
  };
}
