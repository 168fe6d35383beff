// The conductor plugin: policies `workflow` (requests become executions), `executions` and `engine-api`.

import { workerQueues } from '#lib/conductor/definitions/worker-queues.ts';
import type { Config } from '#lib/config/schema.ts';
import type { PluginContext } from '../../gateway/plugin-api/plugin-api.ts';
import { createResponseOptions } from './create-client-parts.ts';
import { createExecutionsPolicy, executionsDeclaration } from './async-executions/executions-policy.ts';
import { createLinks, type LinksOf } from './execution/links.ts';
import { createEngineApiPolicy } from './task-api/engine-api.ts';
import { engineApiDeclaration } from './task-api/engine-api-declaration.ts';
import { createSharedState, type SharedState } from './shared-state.ts';
import { IdempotentStart } from './idempotency/idempotent-start.ts';
import { createActivationCheck, createEngineCheck, createWorkersCheck, PollData } from './readiness.ts';
import { WorkerLimits } from './task-api/worker-limits.ts';
import { createVersions, type Versions } from './versions/create-versions.ts';
import { createWorkflowPolicy, type WorkflowDependencies } from './workflow/workflow.ts';
import { workflowStepsOf, workflowDeclaration } from './workflow/workflow-declaration.ts';

/** Version of the plugin. */
export const version = '1.4.0';
/** Policies that the plugin declares. */
export const policies = [workflowDeclaration, executionsDeclaration, engineApiDeclaration];

/**
 * Timeout, in milliseconds, of an engine call that reads a recorded response while admission control rejects requests.
 */
const urgentTimeoutMs = 2_000;

/** Registers the policies and checks of one configuration. They use state that all configurations share. */
export function init({ services, registerPolicy }: PluginContext): void {
  const { config, definitions, routes } = services;
  const sharedState = services.share('conductor', [], createSharedState);
  const { dependencies, inUse } = sharedState;
  const { engine, queues, updates, metadata } = dependencies;
  const pollData = services.share('poll data', [], () => new PollData(engine));
  const workflowSteps = workflowStepsOf(routes);
  const versions = createVersions(services, sharedState.versions, workflowSteps);
  const { needed } = versions;
  const shipped = definitions.workflows.map(({ definition }) => definition);
  const eventHandlers = definitions.eventHandlers.map(({ definition }) => definition);
  const taskTypes = definitions.taskDefs.map(({ definition }) => definition.name);
  const neededQueues = workerQueues(definitions, [...workflowSteps.keys()], config);

  const workflowDependencies = createWorkflowDependencies(sharedState, config, {
    versions,
    linksOf: createLinks(routes),
  });
  registerPolicy(createWorkflowPolicy(config, workflowDependencies));
  registerPolicy(
    createExecutionsPolicy(config, {
      ...workflowDependencies,
      ...sharedState.clientDependencies,
    }),
  );
  const limits = new WorkerLimits({
    ...{ config, engine, workflows: shipped.map(({ name }) => name) },
    recall: (taskId) => updates.recall(taskId),
  });
  registerPolicy(createEngineApiPolicy(config, { ...dependencies, limits }));

  services.addReadinessCheck(
    'engine',
    createEngineCheck(engine, sharedState.needs, () => [...shipped, ...needed]),
  );
  services.addReadinessNotice('events', () => sharedState.needs.missingHandlers);
  services.addReadinessCheck('workers', createWorkersCheck(pollData, queues, taskTypes));
  services.addActivationCheck('definitions', createActivationCheck(engine, { needed, inUse: () => inUse.needed }));
  services.onActivate(() => {
    Object.assign(inUse, { needed, queues: neededQueues, eventHandlers });
    // Clients can still find executions that they started under a previous configuration.
    for (const { workflow } of workflowSteps.values()) dependencies.workflows.add(workflow);
    metadata.clear();
  });
  services.onStarted(() => sharedState.reportMissing());
}

function createWorkflowDependencies(
  { dependencies, telemetry, engines, lookup, clientDependencies, admission, backEnds }: SharedState,
  config: Config,
  { versions, linksOf }: { versions: Versions; linksOf: LinksOf },
): WorkflowDependencies {
  const { locks, keyRequests, asyncExecutions } = clientDependencies;
  const responseOptions = createResponseOptions(config, linksOf);
  const callMs = config['conductor.timeoutMs'];
  return {
    ...{
      ...dependencies,
      admission,
      backEnds,
      engine: engines.clients,
      telemetry,
      versions,
      responseOptions,
      asyncExecutions,
    },
    dispatchesDirectly: config['conductor.directDispatch'],
    idempotentStart: new IdempotentStart({
      ...{ locks, linksOf, callMs },
      ...{ executions: dependencies.executions, codec: responseOptions.codec, requests: keyRequests },
      isRefusing: () => admission.isRefusing,
      urgent: lookup.apiOf({
        request: (call) => engines.clients.request({ timeoutMs: Math.min(urgentTimeoutMs, callMs), ...call }),
      }),
    }),
  };
}
