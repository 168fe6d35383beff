// The workflow policy: a request becomes one execution of a pinned workflow version, its output the answer.

import type { Request, Response } from 'express';
import type { Config } from '#lib/config/schema.ts';
import type { InboundRequest } from '#lib/envelope/inbound.ts';
import { type HeaderFields, pickHeaders, requestHeaderFilter } from '#lib/envelope/headers.ts';
import {
  contextOf,
  definePolicy,
  type Handler,
  type Policy,
  type RequestContext,
} from '../../../gateway/plugin-api/plugin-api.ts';
import { readBody } from '../../../gateway/plugin-api/read-body.ts';
import { signalWhenGone } from '../../../gateway/plugin-api/signal-when-gone.ts';
import { Problem } from '#lib/problem/problem.ts';
import { isRead } from '../execution/client-executions.ts';
import { type Preferences, parsePreferences, waitPolicyOf, preferOf } from '../async-executions/preferences.ts';
import { idempotencyKeyOf, nameOfKey } from '../idempotency/idempotency-key.ts';
import type { ExecutionTelemetry } from '../telemetry/execution-telemetry.ts';
import { serveRefused, serveRequest, type WorkflowDependencies, type ExecutionRequest } from './serve-request.ts';
import { splitTarget } from '../execution/target.ts';
import type { RouteVersions } from '../versions/route-versions.ts';
import { workflowDeclaration } from './workflow-declaration.ts';

/** MIS codes, college ids and the like: what a path parameter with a domain may look like. */
const codePattern = /^[0-9A-Za-z]{1,8}$/;

/** Creates the policy on the parts of the conductor plugin. */
export function createWorkflowPolicy(config: Config, parts: WorkflowDependencies): Policy {
  const allowsRequest = requestHeaderFilter(config['router.requestHeaders']);
  return definePolicy(workflowDeclaration, {
    create(parameters) {
      const { name, strip, domainOf, waitBudgetMs = config['router.waitBudgetMs'], idempotencyKey } = parameters;
      const stripped = strip.split('/').length - 1;
      const patienceLimits = { budgetMs: waitBudgetMs, maxWaitMs: config['router.maxWaitMs'] };
      const versions = parts.versions.at(parameters);
      const showVersion: ExecutionRequest['showVersion'] = (...shown) => versions.show(...shown);
      const serve = watchedHandler({ name, versions }, parts, async ({ request, response, watched, version }) => {
        const context = contextOf(request);
        const keyName = keyNameOf(request, context, idempotencyKey === 'required');
        const clientGone = signalWhenGone(response);
        const domain = domainOf === undefined ? undefined : domainFor(request, domainOf, config);
        const body = await readBody(request, config['router.maxBodyBytes']);
        // Who has no name could not come back for the answer.
        const preferences = parsePreferences(context.clientId === undefined ? undefined : preferOf(request));
        const headers = withoutOurs(pickHeaders(request.headers, allowsRequest), preferences);
        const received = { ...describeRequest(request, { context, stripped, body, headers }), ...traceOf(watched) };
        // The parameter that chooses the domain is what the definitions read; it names a college.
        const inbound = parts.answers.codec.packInbound(received, domainOf === undefined ? [] : [domainOf]);
        await serveRequest(
          {
            start: {
              name,
              version,
              correlationId: keyName ?? context.requestId,
              input: { inbound },
              ...(domain === undefined ? {} : { taskToDomain: { '*': domain } }),
            },
            received,
            isKeyed: keyName !== undefined,
            patience: waitPolicyOf(preferences, patienceLimits),
            budgetMs: waitBudgetMs,
            showVersion,
          },
          { context, response, clientGone, watched },
          parts,
        );
      });
      const replay = refusedHandler(
        { name, stripped, showVersion, maxBodyBytes: config['router.maxBodyBytes'] },
        parts,
      );
      return (request, response, next) => {
        const { refusal } = contextOf(request);
        return refusal === undefined ? serve(request, response, next) : replay(request, response, refusal);
      };
    },
  });
}

/**
 * What stands for the key of a write; undefined when it has none. On reads a key means nothing.
 * @throws Problem `malformed-idempotency-key` or `idempotency-key-missing` (400)
 */
function keyNameOf(request: Request, { clientId }: RequestContext, isRequired: boolean): string | undefined {
  if (isRead(request.method) || request.method === 'OPTIONS') return undefined;
  const key = idempotencyKeyOf(request);
  // Keys of those who have no name would be everybody's.
  if (key !== undefined && clientId !== undefined) return nameOfKey(clientId, key);
  if (!isRequired) return undefined;
  throw new Problem('idempotency-key-missing', { detail: 'Send one of your own with every write, such as a UUID.' });
}

/** The preferences that are dealt with here are not the back end's. */
function withoutOurs(headers: HeaderFields, { respondAsync, waitSeconds, others }: Preferences): HeaderFields {
  if (headers['prefer'] === undefined || (!respondAsync && waitSeconds === undefined)) return headers;
  const { prefer: _ours, ...rest } = headers;
  return others === undefined ? rest : { ...rest, prefer: others };
}

interface Watched {
  readonly request: Request;
  readonly response: Response;
  readonly watched: ExecutionTelemetry;
  /** The one that this request gets. */
  readonly version: number;
}

interface RefusedOptions extends Pick<ExecutionRequest, 'showVersion'> {
  /** Of the workflow. */
  readonly name: string;
  /** Leading segments of the path that the back end does not see. */
  readonly stripped: number;
  readonly maxBodyBytes: number;
}

/** Answers what the admission policy refuses: with the response that its Idempotency-Key has, else with the refusal. */
function refusedHandler({ name, stripped, showVersion, maxBodyBytes }: RefusedOptions, parts: WorkflowDependencies) {
  return async function answerRefused(request: Request, response: Response, refusal: Problem): Promise<void> {
    const context = contextOf(request);
    const keyName = keyNameOf(request, context, false);
    if (keyName === undefined) throw refusal;
    const body = await readBody(request, maxBodyBytes);
    const received = describeRequest(request, { context, stripped, body, headers: {} });
    const start = { name, correlationId: keyName };
    await serveRefused({ start, received, showVersion }, { context, response, refusal }, parts);
  };
}

/** Nothing is begun once the router drains; whatever becomes of what is begun is seen. */
function watchedHandler(
  { name, versions }: { name: string; versions: RouteVersions },
  { draining, watch }: WorkflowDependencies,
  handle: (watched: Watched) => Promise<void>,
): Handler {
  return async function runWorkflow(request, response) {
    if (draining.aborted) throw new Problem('shutting-down', { headers: { connection: 'close', 'retry-after': '1' } });
    const chosen = versions.choose(request, response);
    const watched = watch.begin(request, { name, ...chosen });
    const serving = handle({ request, response, watched, version: chosen.version });
    contextOf(request).served = serving.catch(ignore);
    try {
      await serving;
    } catch (error) {
      watched.failed(response, error);
      throw error;
    } finally {
      watch.forget(contextOf(request).executionId, watched);
    }
  };
}

/** Whoever serves the request deals with what went wrong. */
function ignore(): void {
  return undefined;
}

/** The trace goes along in the envelope while there is one. */
function traceOf({ traceparent }: ExecutionTelemetry): Pick<InboundRequest, 'traceparent'> {
  return traceparent === undefined ? {} : { traceparent };
}

/** Which pool of workers serves a college. @throws Problem `unknown-college` for what cannot be a code */
function domainFor(request: Request, parameter: string, config: Config): string | undefined {
  const code = request.params[parameter] ?? '';
  if (!codePattern.test(code)) throw new Problem('unknown-college');
  return config[`adaptor.${code}.domain`];
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
