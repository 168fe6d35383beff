// Hands the checked pipelines to Express Gateway and puts our error handling around every policy.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { NextFunction, Request, RequestHandler, Response, Router } from 'express';
import { contextOf, type Handler, type Policy } from '../plugin-api/plugin-api.ts';
import { createRouter, expressGateway } from '../configuration/express-gateway.ts';
import { type PipelineStep, pathsOf } from '../plugin-api/gateway-config-schema.ts';
import { createPauses } from '#lib/process/pauses.ts';
import type { Gateway } from '../configuration/validate-gateway.ts';

/**
 * Mounts every pipeline in the order of the file. It gives other work its turn between its steps.
 * @returns the router; a request that no pipeline takes falls through it
 */
export async function mountPipelines(
  { gatewayConfig: { apiEndpoints, pipelines: ofFile }, steps }: Gateway,
  policies: ReadonlyMap<string, Policy>,
): Promise<Router> {
  const { pipelines, policies: registry } = expressGateway();
  const { handlers, numbers } = await createHandlers(steps, policies);
  for (const policy of policies.values()) {
    // Parameters were checked strictly before: all that Express Gateway gets of a step is its number.
    const schema = { $id: `urn:service-router:step:${policy.name}`, type: 'object' };
    registry.register({ name: policy.name, schema, policy: ({ step }) => handlers[step as number] as RequestHandler });
  }
  const gatewayConfig = {
    policies: [...policies.keys()],
    apiEndpoints: Object.fromEntries(
      Object.entries(apiEndpoints).map(([name, { summary: _, ...endpoint }]) => [
        name,
        { host: '*', ...endpoint, paths: pathsOf(endpoint) },
      ]),
    ),
    pipelines: Object.fromEntries(
      Object.entries(ofFile).map(([name, { apiEndpoints: served }]) => [
        name,
        {
          apiEndpoints: served,
          policies: [{ [entryName]: [] }, ...(steps.get(name) ?? []).map((step) => toEntry(step, numbers.get(step)))],
        },
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

/** The handler of every step, in pieces: Express Gateway would make all of them in one turn. */
async function createHandlers(
  steps: ReadonlyMap<string, readonly PipelineStep[]>,
  policies: ReadonlyMap<string, Policy>,
): Promise<{ handlers: readonly RequestHandler[]; numbers: ReadonlyMap<PipelineStep, number> }> {
  const handlers: RequestHandler[] = [];
  const numbers = new Map<PipelineStep, number>();
  const pause = createPauses();
  for (const step of [...steps.values()].flat()) {
    const policy = policies.get(step.policy) as Policy;
    numbers.set(step, handlers.push(guarded(policy.policy(step.action as never))) - 1);
    await pause();
  }
  return { handlers, numbers };
}

function toEntry({ policy, condition }: PipelineStep, step: number | undefined): Record<string, unknown> {
  return { [policy]: [{ action: { step }, ...(condition === undefined ? {} : { condition }) }] };
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
