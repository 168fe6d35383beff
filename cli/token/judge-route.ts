// Evaluates whether a route accepts a request, with the code of the route's policies.

import type { Config } from '#lib/config/schema.ts';
import type { GatewayRoute } from '../../gateway/plugin-api/gateway-routes.ts';
import { pathsOf } from '../../gateway/plugin-api/gateway-config-schema.ts';
import { findAllowedCall } from '../../plugins/conductor/task-api/allow-list.ts';
import { checkAdaptor, checkMisCodes } from '../../plugins/limits/mis-codes.ts';
import { type BearerParameters, missingScopes } from '../../plugins/oauth2/bearer/required-scopes.ts';
import { Problem } from '#lib/problem/problem.ts';

/** The request to evaluate. */
export interface RouteRequest {
  readonly clientId: string;
  readonly scopes: ReadonlySet<string>;
  readonly method: string;
  /** Raw path, such as `/adaptor/001/x`; policies that need a path are skipped without it. */
  readonly path?: string;
}

/** The result for one route and method. */
export interface Judgement {
  readonly route: string;
  readonly method: string;
  readonly outcome: 'passes' | 'refused';
  /** HTTP status of the response when the request is refused. */
  readonly status?: number;
  readonly reason?: string;
}

/** Evaluates methods, path and policies of a route in order, and returns the first refusal. */
export function judgeRoute(route: GatewayRoute, request: RouteRequest, config: Config): Judgement {
  const { name, endpoint } = route;
  const { method, path } = request;
  const refused = (status: number, reason: string): Judgement => ({
    route: name,
    method,
    outcome: 'refused',
    status,
    reason,
  });
  const methods: readonly string[] | undefined = endpoint.methods;
  if (methods !== undefined && !methods.includes(method)) return refused(405, `only ${methods.join(', ')}`);
  const parameters = path === undefined ? {} : parametersOf(pathsOf(endpoint), path);
  if (parameters === null) return refused(404, `${path} is not a path of this route (${pathsOf(endpoint).join(', ')})`);
  for (const { policy, action } of route.steps) {
    const refusal = judgeStep(policy, action, { request, parameters, config });
    if (refusal !== null) return refused(refusal.status, refusal.reason);
  }
  return { route: name, method, outcome: 'passes' };
}

interface StepContext {
  readonly request: RouteRequest;
  readonly parameters: Readonly<Record<string, string>>;
  readonly config: Config;
}

/** Evaluates one policy. Rate limits and admission are skipped, since they depend on the current load. */
function judgeStep(
  policy: string,
  action: Readonly<Record<string, unknown>>,
  { request, parameters, config }: StepContext,
): { status: number; reason: string } | null {
  const { scopes, method, path, clientId } = request;
  switch (policy) {
    case 'bearer': {
      const missing = missingScopes(scopes, method, action as BearerParameters);
      if (missing === null) return null;
      const any = missing === action['anyScope'] ? 'one of ' : '';
      return {
        status: 403,
        reason: `needs ${any}${missing.join(', ')}; the token has ${[...scopes].join(' ') || 'no scope'}`,
      };
    }
    case 'mis-codes': {
      if (path === undefined) return null;
      try {
        const { parameter, after, adaptors } = action as { parameter: string; after?: string; adaptors?: boolean };
        const code = parameters[parameter] ?? '';
        checkMisCodes(config, clientId, { code, target: path, after });
        if (adaptors === true) checkAdaptor(config, code);
        return null;
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        if (error.code === 'unknown-college')
          return { status: 404, reason: 'no adaptor is configured for this MIS code' };
        return { status: 403, reason: `client.${clientId}.misCodes does not have it: ${error.detail ?? ''}` };
      }
    }
    case 'engine-api':
      return path === undefined ? null : judgeEngineCall(request, path.slice(String(action['strip'] ?? '').length));
    default:
      return null;
  }
}

function judgeEngineCall({ method, scopes }: RouteRequest, path: string): { status: number; reason: string } | null {
  const call = findAllowedCall(method, path.split('?', 1)[0] ?? '');
  if (call === undefined) return { status: 404, reason: 'this call of the engine does not pass the router' };
  return scopes.has(call.scope) ? null : { status: 403, reason: `this call needs ${call.scope}` };
}

/** Returns the path parameters by the patterns of an endpoint (`/adaptor/:mis/*`), or null when no pattern matches. */
function parametersOf(patterns: readonly string[], path: string): Record<string, string> | null {
  const segments = (path.split('?', 1)[0] ?? '').replace(/(?<=.)\/$/, '').split('/');
  for (const pattern of patterns) {
    const parts = pattern.split('/');
    const isOpen = parts.at(-1) === '*';
    const fixed = isOpen ? parts.slice(0, -1) : parts;
    if (isOpen ? segments.length < fixed.length : segments.length !== fixed.length) continue;
    if (!fixed.every((part, index) => part.startsWith(':') || part.toLowerCase() === segments[index]?.toLowerCase()))
      continue;
    return Object.fromEntries(
      fixed.flatMap((part, index) => (part.startsWith(':') ? [[part.slice(1), decode(segments[index] ?? '')]] : [])),
    );
  }
  return null;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
