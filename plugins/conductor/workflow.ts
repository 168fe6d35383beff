// The workflow policy: a request becomes one execution of a pinned workflow version, its output the answer.

import type { Request, Response } from 'express';
import { Type } from 'typebox';
import type { Config } from '../../config/schema.ts';
import type { InboundRequest } from '../../envelope/inbound.ts';
import { pickHeaders, requestHeaderFilter, responseHeaderFilter } from '../../envelope/headers.ts';
import { contextOf, definePolicy, type Handler, type Policy, type RequestContext } from '../../gateway/contract.ts';
import { readBody } from '../../gateway/read-body.ts';
import { signalWhenGone } from '../../gateway/signal-when-gone.ts';
import { createPayloadCodec } from '../../payload/payload-codec.ts';
import { Problem } from '../../problem/problem.ts';
import { answerOf, sendAnswer } from './answer.ts';
import { type Parts, startExecution, waitForEnd } from './executions.ts';
import type { ExecutionWatch } from './observe/execution-watch.ts';
import type { Pinned, WatchedExecution } from './observe/watched-execution.ts';
import { splitTarget } from './target.ts';

const parameters = Type.Object(
  {
    name: Type.String({ minLength: 1, description: 'workflow definition' }),
    version: Type.Integer({ minimum: 1, description: 'its pinned version' }),
    strip: Type.String({
      pattern: '^(/[^/]+)+$',
      description: 'leading part of the public path that the back end does not see',
    }),
    domainOf: Type.Optional(
      Type.String({ description: 'path parameter <p> whose `adaptor.<p>.domain` is the task domain' }),
    ),
    waitBudgetMs: Type.Optional(
      Type.Integer({ minimum: 1, description: 'longest wait in milliseconds; default router.waitBudgetMs' }),
    ),
  },
  { additionalProperties: false },
);

/** MIS codes, college ids and the like: what a path parameter with a domain may look like. */
const codePattern = /^[0-9A-Za-z]{1,8}$/;

export interface WorkflowParts extends Parts {
  watch: ExecutionWatch;
}

/** Creates the policy on the parts of the conductor plugin. */
export function createWorkflowPolicy(config: Config, parts: WorkflowParts): Policy {
  const allowsRequest = requestHeaderFilter(config['router.requestHeaders']);
  const codec = createPayloadCodec(config);
  const answerOptions = {
    codec,
    maxBytes: config['router.maxAnswerBytes'],
    allows: responseHeaderFilter(config['router.responseHeaders']),
  };
  return definePolicy({
    name: 'workflow',
    schema: parameters,
    create({ name, version, strip, domainOf, waitBudgetMs = config['router.waitBudgetMs'] }) {
      const stripped = strip.split('/').length - 1;
      return watchedHandler({ name, version }, parts, async (request, response, watched) => {
        const context = contextOf(request);
        const clientGone = signalWhenGone(response);
        const domain = domainOf === undefined ? undefined : domainFor(request, domainOf, config);
        const body = await readBody(request, config['router.maxBodyBytes']);
        const headers = pickHeaders(request.headers, allowsRequest);
        const received = { ...describeRequest(request, { context, stripped, body, headers }), ...traceOf(watched) };
        // The parameter that chooses the domain is what the definitions read; it names a college.
        const inbound = codec.packInbound(received, domainOf === undefined ? [] : [domainOf]);
        const readOnly = request.method === 'GET' || request.method === 'HEAD';
        watched.starting();
        const execution = await startExecution(
          {
            name,
            version,
            correlationId: context.requestId,
            input: { inbound },
            ...(domain === undefined ? {} : { taskToDomain: { '*': domain } }),
          },
          { readOnly, budgetMs: leftOf(waitBudgetMs, context) },
          parts,
        );
        context.executionId = execution.executionId;
        context.onStarted?.(execution.executionId);
        parts.watch.started(execution.executionId, watched);
        const ended = await waitForEnd(
          execution,
          { budgetMs: leftOf(waitBudgetMs, context), readOnly, clientGone },
          parts,
        );
        watched.ended(ended !== null);
        if (ended === null) return watched.answered(response, 'client-gone');
        const answer = answerOf(ended, answerOptions);
        response.setHeader('x-execution-id', execution.executionId);
        watched.answered(response, 'answered');
        sendAnswer(response, answer);
      });
    },
  });
}

type WatchedHandler = (request: Request, response: Response, watched: WatchedExecution) => Promise<void>;

/** Nothing is begun once the router drains; whatever becomes of what is begun is seen. */
function watchedHandler(pinned: Pinned, { draining, watch }: WorkflowParts, handle: WatchedHandler): Handler {
  return async function runWorkflow(request, response) {
    if (draining.aborted) throw new Problem('shutting-down', { headers: { connection: 'close', 'retry-after': '1' } });
    const watched = watch.begin(request, pinned);
    try {
      await handle(request, response, watched);
    } catch (error) {
      watched.failed(response, error);
      throw error;
    } finally {
      watch.forget(contextOf(request).executionId);
    }
  };
}

/** The trace goes along in the envelope while there is one. */
function traceOf({ traceparent }: WatchedExecution): Pick<InboundRequest, 'traceparent'> {
  return traceparent === undefined ? {} : { traceparent };
}

/** Which pool of workers serves a college. @throws Problem `unknown-college` for what cannot be a code */
function domainFor(request: Request, parameter: string, config: Config): string | undefined {
  const code = request.params[parameter] ?? '';
  if (!codePattern.test(code)) throw new Problem('unknown-college');
  return config[`adaptor.${code}.domain`];
}

/** What of the budget has not been spent in the queue and on the start. */
function leftOf(budgetMs: number, { arrivedAt = performance.now() }: RequestContext): number {
  return Math.max(1, Math.round(budgetMs - (performance.now() - arrivedAt)));
}

function describeRequest(
  request: Request,
  given: { context: RequestContext; stripped: number; body: Buffer; headers: InboundRequest['headers'] },
): InboundRequest {
  const { context, stripped, body, headers } = given;
  const { path, query } = splitTarget(request.originalUrl, stripped);
  const { '0': _rest, ...params } = request.params;
  return {
    httpMethod: request.method,
    path,
    query,
    params,
    headers,
    body,
    requestId: context.requestId,
    clientId: context.clientId ?? 'anonymous',
    route: context.route,
  };
}
