// Reads a client's request: the whole body, the preferences, the Idempotency-Key, the workflow version and the task
// domain.

import type { Request, Response } from 'express';
import { isMisCode } from '#lib/config/mis-code.ts';
import type { Config } from '#lib/config/schema.ts';
import { type HeaderFields, type HeaderFilter, pickHeaders } from '#lib/envelope/headers.ts';
import type { InboundRequest } from '#lib/envelope/inbound.ts';
import { isSafeMethod } from '#lib/http/methods.ts';
import { Problem } from '#lib/problem/problem.ts';
import { callerOf } from '../../../gateway/plugin-api/client-address.ts';
import { chooseCoding } from '../../../gateway/plugin-api/content-coding.ts';
import { contextOf, type RequestContext } from '../../../gateway/plugin-api/plugin-api.ts';
import { readBody } from '../../../gateway/plugin-api/read-body.ts';
import { hasLeft, signalWhenGone } from '../../../gateway/plugin-api/signal-when-gone.ts';
import { parsePreferences, preferOf, type Preferences, waitPolicyOf } from '../execution/preferences.ts';
import { splitTarget } from '../execution/target.ts';
import { idempotencyKeyOf, nameOfKey } from '../idempotency/idempotency-key.ts';
import type { TelemetryIndex } from '../telemetry/telemetry-index.ts';
import type { RouteVersions } from '../versions/route-versions.ts';
import type { ExecutionRequest } from './execution-request.ts';

/** Settings and dependencies for reading the requests of one route. */
export interface RouteOptions {
  /** Workflow name. */
  readonly name: string;
  readonly versions: RouteVersions;
  /** Number of leading path segments that the back end does not see. */
  readonly stripped: number;
  /** Path parameter that selects the task domain; undefined when the route has none. */
  readonly domainOf: string | undefined;
  /** True when every write needs an Idempotency-Key. */
  readonly isKeyRequired: boolean;
  /** Response deadline without a `wait` preference, in milliseconds. */
  readonly responseDeadlineMs: number;
  readonly config: Config;
  readonly allowsHeader: HeaderFilter;
  readonly telemetry: TelemetryIndex;
}

/**
 * Returns the request for an execution. The whole body is read first, so that a slow upload holds no permit.
 * @throws Problem for a request that cannot be served because of its body, version, Idempotency-Key or college code
 */
export async function readExecutionRequest(
  request: Request,
  response: Response,
  route: RouteOptions,
): Promise<ExecutionRequest> {
  const { config, versions, domainOf, responseDeadlineMs } = route;
  const context = contextOf(request);
  const clientGone = signalWhenGone(response);
  // Most bodies arrive with the head. In that case, the time spent in earlier policies counts towards the deadline.
  const cameWithHead = request.complete;
  const body = await readBody(request, config['router.maxBodyBytes']);
  const now = performance.now();
  const { receivedAt = now } = context;
  const arrivedAt = cameWithHead ? receivedAt : now;
  const version = versions.choose(request, response);
  const keyName = keyNameOf(request, context, route.isKeyRequired);
  const domain = domainOf === undefined ? undefined : domainFor(request, domainOf, config);
  // Anonymous clients cannot retrieve results later, so their Prefer header is ignored.
  const preferences = parsePreferences(context.clientId === undefined ? undefined : preferOf(request));
  const waitPolicy = waitPolicyOf(preferences, { responseDeadlineMs, maxWaitMs: config['router.maxWaitMs'] });
  const telemetry = route.telemetry.begin(request, { name: route.name, version: version.version });
  const { traceparent } = telemetry;
  const headers = withoutAppliedPreferences(pickHeaders(request.headers, route.allowsHeader), preferences);
  const received = {
    ...describeRequest(request, { context, stripped: route.stripped, body, headers }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
  return {
    ...{ received, version, domain, waitPolicy, responseDeadlineMs, clientGone, telemetry, arrivedAt, receivedAt },
    correlationId: keyName ?? context.requestId,
    isKeyed: keyName !== undefined,
    client: callerOf(request),
    hasLeft: () => hasLeft(response),
    coding: chooseCoding(request),
    startBefore: arrivedAt + Math.max(responseDeadlineMs, waitPolicy.waitMs),
  };
}

/**
 * Returns the name that identifies a write by its client and Idempotency-Key; undefined for a write without a key. Keys
 * of reads are ignored.
 * @throws Problem `malformed-idempotency-key` or `idempotency-key-missing` (400)
 */
function keyNameOf(request: Request, { clientId }: RequestContext, isRequired: boolean): string | undefined {
  if (isSafeMethod(request.method)) return undefined;
  const key = idempotencyKeyOf(request);
  if (key !== undefined && clientId !== undefined) return nameOfKey(clientId, key);
  if (!isRequired) return undefined;
  const detail =
    key === undefined
      ? 'Send a key of your own, such as a UUID, with every write.'
      : 'A key is accepted only with an access token, because otherwise all anonymous clients would share the same keys.';
  throw new Problem('idempotency-key-missing', { detail });
}

/** Returns the header fields for the back end without the preferences that the router itself applies. */
function withoutAppliedPreferences(
  headers: HeaderFields,
  { respondAsync, waitSeconds, others }: Preferences,
): HeaderFields {
  if (headers['prefer'] === undefined || (!respondAsync && waitSeconds === undefined)) return headers;
  const { prefer: _ours, ...rest } = headers;
  return others === undefined ? rest : { ...rest, prefer: others };
}

/** Returns the task domain of a college. @throws Problem `unknown-college` when the parameter is not an MIS code */
function domainFor(request: Request, parameter: string, config: Config): string | undefined {
  const code = request.params[parameter] ?? '';
  if (!isMisCode(code)) throw new Problem('unknown-college');
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
