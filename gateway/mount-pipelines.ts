// Hands the checked pipelines to Express Gateway and puts our error handling around every policy.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { NextFunction, Request, RequestHandler, Response, Router } from 'express';
import { contextOf, type Handler, type Policy } from './contract.ts';
import { createRouter, expressGateway } from './express-gateway.ts';
import { type GatewayConfig, type PipelineStep, pathsOf } from './gateway-config-schema.ts';

/**
 * Mounts every pipeline in the order of the file.
 * @returns the router; a request that no pipeline takes falls through it
 */
export async function mountPipelines(
  config: GatewayConfig,
  steps: ReadonlyMap<string, readonly PipelineStep[]>,
  policies: ReadonlyMap<string, Policy>,
): Promise<Router> {
  const { pipelines, policies: registry } = expressGateway();
  for (const policy of policies.values()) {
    // Parameters were checked strictly before; Express Gateway gets a schema that lets its own extra member pass.
    const schema = { $id: policy.schema.$id, type: 'object' };
    registry.register({
      name: policy.name,
      schema,
      policy: (action) => guarded(policy.policy(parametersOf(action) as never)),
    });
  }
  const gatewayConfig = {
    policies: [...policies.keys()],
    apiEndpoints: Object.fromEntries(
      Object.entries(config.apiEndpoints).map(([name, { summary: _, ...endpoint }]) => [
        name,
        { host: '*', ...endpoint, paths: pathsOf(endpoint) },
      ]),
    ),
    pipelines: Object.fromEntries(
      Object.entries(config.pipelines).map(([name, { apiEndpoints }]) => [
        name,
        { apiEndpoints, policies: [{ [entryName]: [] }, ...(steps.get(name) ?? []).map(toEntry)] },
      ]),
    ),
  };
  registry.register({ name: entryName, schema: { $id: entryName, type: 'object' }, policy: () => enterPipeline });
  gatewayConfig.policies.push(entryName);
  const router = await pipelines.bootstrap({ app: createRouter(), config: { gatewayConfig } });
  // Express Gateway mounts each policy when a promise resolves: let all of them resolve before the first request.
  await nextTurn();
  return router;
}

const entryName = 'pipeline-entry';

/** First step of every pipeline: the request's context learns which route it is on. */
const enterPipeline: RequestHandler = (request, _response, next) => {
  const { egContext } = request as Request & { egContext: { apiEndpoint: { apiEndpointName: string } } };
  contextOf(request).route = egContext.apiEndpoint.apiEndpointName;
  next();
};

function toEntry({ policy, action, condition }: PipelineStep): Record<string, unknown> {
  return { [policy]: [{ action, ...(condition === undefined ? {} : { condition }) }] };
}

/** Express Gateway mixes a callback of its own into every action. */
function parametersOf({ getCommonAuthCallback: _, ...action }: Record<string, unknown>): Record<string, unknown> {
  return action;
}

/** Express 4 ignores what an async handler rejects with: here it reaches the error handler like a thrown error. */
function guarded(handler: Handler): RequestHandler {
  return function runPolicy(request: Request, response: Response, next: NextFunction) {
    try {
      const result = handler(request, response, next);
      if (result instanceof Promise) result.catch(next);
    } catch (error) {
      next(error);
    }
  };
}
