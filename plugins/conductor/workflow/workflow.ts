// The workflow policy: turns a request into one execution of a pinned workflow version and its output into the response.

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

/** The format of MIS codes, required of a path parameter that selects a domain. */
const codePattern = /^[0-9A-Za-z]{1,8}$/;

/** Creates the policy. */
export function createWorkflowPolicy(config: Config, dependencies: WorkflowDependencies): Policy {
  const allowsRequest = requestHeaderFilter(config['router.requestHeaders']);
  return definePolicy(workflowDeclaration, {
    create(parameters) {
      const { name, strip, domainOf, waitBudgetMs = config['router.waitBudgetMs'], idempotencyKey } = parameters;
      const stripped = strip.split('/').length - 1;
      const waitLimits = { budgetMs: waitBudgetMs, maxWaitMs: config['router.maxWaitMs'] };
      const versions = dependencies.versions.at(parameters);
      const showVersion: ExecutionRequest['showVersion'] = (...shown) => versions.show(...shown);
      const serve = tracedHandler(
        { name, versions },
        dependencies,
        async ({ request, response, telemetry, version }) => {
          const context = contextOf(request);
          const keyName = keyNameOf(request, context, idempotencyKey === 'required');
          const clientGone = signalWhenGone(response);
          const domain = domainOf === undefined ? undefined : domainFor(request, domainOf, config);
          const body = await readBody(request, config['router.maxBodyBytes']);
          // Anonymous clients cannot retrieve results later, so their Prefer header is ignored.
          const preferences = parsePreferences(context.clientId === undefined ? undefined : preferOf(request));
          const headers = withoutAppliedPreferences(pickHeaders(request.headers, allowsRequest), preferences);
          const received = { ...describeRequest(request, { context, stripped, body, headers }), ...traceOf(telemetry) };
          // Workflow definitions read the parameter that selects the domain, so it stays unencrypted.
          const inbound = dependencies.responseOptions.codec.packInbound(
            received,
            domainOf === undefined ? [] : [domainOf],
          );
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
              waitPolicy: waitPolicyOf(preferences, waitLimits),
              deadlineMs: waitBudgetMs,
              showVersion,
            },
            { context, response, clientGone, telemetry },
            dependencies,
          );
        },
      );
      const replay = refusedHandler(
        { name, stripped, showVersion, maxBodyBytes: config['router.maxBodyBytes'] },
        dependencies,
      );
      return (request, response, next) => {
        const { refusal } = contextOf(request);
        return refusal === undefined ? serve(request, response, next) : replay(request, response, refusal);
      };
    },
  });
}

/**
 * Returns the name that identifies a write by its client and Idempotency-Key; undefined for a write without a key. Keys
 * of reads are ignored.
 * @throws Problem `malformed-idempotency-key` or `idempotency-key-missing` (400)
 */
function keyNameOf(request: Request, { clientId }: RequestContext, isRequired: boolean): string | undefined {
  if (isRead(request.method) || request.method === 'OPTIONS') return undefined;
  const key = idempotencyKeyOf(request);
  // All anonymous clients would share their keys.
  if (key !== undefined && clientId !== undefined) return nameOfKey(clientId, key);
  if (!isRequired) return undefined;
  throw new Problem('idempotency-key-missing', { detail: 'Send one of your own with every write, such as a UUID.' });
}

/** Removes the preferences that the router applies from the back end's header fields. */
function withoutAppliedPreferences(
  headers: HeaderFields,
  { respondAsync, waitSeconds, others }: Preferences,
): HeaderFields {
  if (headers['prefer'] === undefined || (!respondAsync && waitSeconds === undefined)) return headers;
  const { prefer: _ours, ...rest } = headers;
  return others === undefined ? rest : { ...rest, prefer: others };
}

/** A request with its telemetry. */
interface TracedRequest {
  readonly request: Request;
  readonly response: Response;
  readonly telemetry: ExecutionTelemetry;
  /** Workflow version chosen for this request. */
  readonly version: number;
}

interface RefusedOptions extends Pick<ExecutionRequest, 'showVersion'> {
  /** Workflow name. */
  readonly name: string;
  /** Number of leading path segments that are removed for the back end. */
  readonly stripped: number;
  readonly maxBodyBytes: number;
}

/** Serves requests that the admission policy rejects: replays the recorded response, or throws the rejection. */
function refusedHandler(
  { name, stripped, showVersion, maxBodyBytes }: RefusedOptions,
  dependencies: WorkflowDependencies,
) {
  return async function serveRefusedRequest(request: Request, response: Response, refusal: Problem): Promise<void> {
    const context = contextOf(request);
    const keyName = keyNameOf(request, context, false);
    if (keyName === undefined) throw refusal;
    const body = await readBody(request, maxBodyBytes);
    const received = describeRequest(request, { context, stripped, body, headers: {} });
    const start = { name, correlationId: keyName };
    await serveRefused({ start, received, showVersion }, { context, response, refusal }, dependencies);
  };
}

/** Wraps a handler with telemetry. Rejects requests while the router drains. */
function tracedHandler(
  { name, versions }: { name: string; versions: RouteVersions },
  { draining, telemetry: telemetryIndex }: WorkflowDependencies,
  handle: (request: TracedRequest) => Promise<void>,
): Handler {
  return async function runWorkflow(request, response) {
    if (draining.aborted) throw new Problem('shutting-down', { headers: { connection: 'close', 'retry-after': '1' } });
    const chosen = versions.choose(request, response);
    const telemetry = telemetryIndex.begin(request, { name, ...chosen });
    const serving = handle({ request, response, telemetry, version: chosen.version });
    contextOf(request).served = serving.catch(ignore);
    try {
      await serving;
    } catch (error) {
      telemetry.failed(response, error);
      throw error;
    } finally {
      telemetryIndex.forget(contextOf(request).executionId, telemetry);
    }
  };
}

/** Ignores an error that the policy's handler also throws. */
function ignore(): void {
  return undefined;
}

/** Returns the trace context for the envelope, if there is one. */
function traceOf({ traceparent }: ExecutionTelemetry): Pick<InboundRequest, 'traceparent'> {
  return traceparent === undefined ? {} : { traceparent };
}

/** Returns the task domain of a college. @throws Problem `unknown-college` when the parameter is not a MIS code */
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
