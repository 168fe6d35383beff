// Mounts the validated pipelines with Express Gateway, and adds error handling to every policy.

import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { NextFunction, Request, RequestHandler, Response, Router } from 'express';
import { contextOf, type Handler, type Policy } from '../plugin-api/plugin-api.ts';
import { createRouter, expressGateway } from '../configuration/express-gateway.ts';
import { type PipelineStep, pathsOf } from '../plugin-api/gateway-config-schema.ts';
import { KeyedCounter } from '#lib/gc/keyed-counter.ts';
import { createPauses } from '#lib/process/pauses.ts';
import { toProblem } from '#lib/problem/problem.ts';
import type { Gateway } from '../configuration/validate-gateway.ts';
import { type FailureReporter, reportFailure, requestFields } from './report-failure.ts';

/**
 * Mounts every pipeline in file order. Yields to the event loop between steps.
 * @param reporter receives whatever a policy does wrong after calling `next()`
 * @returns an Express router that calls `next()` for requests that no pipeline matches
 */
export async function mountPipelines(
  { gatewayConfig: { apiEndpoints, pipelines: configured }, steps }: Gateway,
  policies: ReadonlyMap<string, Policy>,
  reporter: FailureReporter,
): Promise<Router> {
  const { pipelines, policies: registry } = expressGateway();
  const { handlers, numbers } = await createHandlers(steps, policies, reporter);
  for (const policy of policies.values()) {
    // The parameters have already been validated: Express Gateway gets only the number of the step.
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
      Object.entries(configured).map(([name, { apiEndpoints: served }]) => [
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
  // Express Gateway mounts each policy in a promise callback: all of these callbacks must run before the first request.
  await nextTurn();
  return router;
}

const entryName = 'pipeline-entry';

/** First step of every pipeline: sets the route of the request context. */
const enterPipeline: RequestHandler = (request, _response, next) => {
  const { egContext } = request as Request & { egContext: { apiEndpoint: { apiEndpointName: string } } };
  contextOf(request).route = egContext.apiEndpoint.apiEndpointName;
  next();
};

/**
 * Creates the handler for each step, with pauses: Express Gateway would create all of them in one event loop iteration.
 */
async function createHandlers(
  steps: ReadonlyMap<string, readonly PipelineStep[]>,
  policies: ReadonlyMap<string, Policy>,
  reporter: FailureReporter,
): Promise<{ handlers: readonly RequestHandler[]; numbers: ReadonlyMap<PipelineStep, number> }> {
  const handlers: RequestHandler[] = [];
  const numbers = new Map<PipelineStep, number>();
  const pause = createPauses();
  for (const [step, id] of [...steps.values()].flatMap(identifySteps)) {
    const policy = policies.get(step.policy) as Policy;
    numbers.set(step, handlers.push(guarded(policy.policy(step.action as never, id), step.policy, reporter)) - 1);
    await pause();
  }
  return { handlers, numbers };
}

/**
 * Returns the steps of one pipeline, each with a digest of its content as its id. The digest includes a number that
 * distinguishes steps with equal content.
 */
function identifySteps(steps: readonly PipelineStep[]): [PipelineStep, id: string][] {
  const seen = new KeyedCounter();
  return steps.map((step) => {
    const content = JSON.stringify([step.policy, step.action, step.condition]);
    seen.add(content, 1);
    return [step, hash('sha256', `${seen.of(content)} ${content}`, 'base64url').slice(0, 12)];
  });
}

function toEntry({ policy, condition }: PipelineStep, step: number | undefined): Record<string, unknown> {
  return { [policy]: [{ action: { step }, ...(condition === undefined ? {} : { condition }) }] };
}

/**
 * Returns the handler with error handling. The first call to `next()`, or a failure before that call, decides what
 * happens to the request; anything later is only logged and reported. Express 4 ignores rejections and repeats the
 * next steps for each call.
 */
function guarded(handler: Handler, policy: string, reporter: FailureReporter): RequestHandler {
  return function runPolicy(request: Request, response: Response, next: NextFunction) {
    let isDecided = false;
    const pass = (reason?: unknown) => {
      if (isDecided) {
        const message = `ignored a call to next(): the policy ${policy} had already called it or had failed for this request`;
        if (reason === undefined) reporter.log.error(requestFields(request), message);
        else reportFailure(reporter, request, { error: reason, message });
        return;
      }
      isDecided = true;
      next(reason);
    };
    const fail = (error: unknown) => {
      if (isDecided) {
        const message = `the policy ${policy} failed after it had called next(): the request continues`;
        reportFailure(reporter, request, { error, message });
        return;
      }
      isDecided = true;
      // Express would continue with the next step if the error were `undefined`, `null`, 'route' or the like.
      next(toProblem(error));
    };
    try {
      const result = handler(request, response, pass);
      if (result !== undefined) Promise.resolve(result).catch(fail);
    } catch (error) {
      fail(error);
    }
  };
}
