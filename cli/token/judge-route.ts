// Whether a route lets a client with these scopes in, judged by the code of its own policies.

import type { Config } from '#lib/config/schema.ts';
import type { GatewayRoute } from '../../gateway/plugin-api/gateway-routes.ts';
import { pathsOf } from '../../gateway/plugin-api/gateway-config-schema.ts';
import { findAllowedCall } from '../../plugins/conductor/task-api/allow-list.ts';
import { checkAdaptor, checkMisCodes } from '../../plugins/limits/mis-codes.ts';
import { type BearerParameters, missingScopes } from '../../plugins/oauth2/bearer/required-scopes.ts';
import { Problem } from '#lib/problem/problem.ts';

export interface Asked {
  readonly clientId: string;
  readonly scopes: ReadonlySet<string>;
  readonly method: string;
  /** Raw path, such as `/adaptor/001/x`; judged as far as the policies need it. */
  readonly path?: string;
}

export interface Judgement {
  readonly route: string;
  readonly method: string;
  readonly outcome: 'passes' | 'refused';
  /** Of the answer, when it is refused. */
  readonly status?: number;
  readonly reason?: string;
}

export function judgeRoute(route: GatewayRoute, asked: Asked, config: Config): Judgement {
  const { name, endpoint } = route;
  const { method, path } = asked;
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
    const refusal = judgeStep(policy, action, { asked, parameters, config });
    if (refusal !== null) return refused(refusal.status, refusal.reason);
  }
  return { route: name, method, outcome: 'passes' };
}

interface StepContext {
  readonly asked: Asked;
  readonly parameters: Readonly<Record<string, string>>;
  readonly config: Config;
}

/** Rate limits and admission are not judged: they depend on the moment. */
function judgeStep(
  policy: string,
  action: Readonly<Record<string, unknown>>,
  { asked, parameters, config }: StepContext,
): { status: number; reason: string } | null {
  const { scopes, method, path, clientId } = asked;
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
      return path === undefined ? null : judgeEngineCall(asked, path.slice(String(action['strip'] ?? '').length));
    default:
      return null;
  }
}

function judgeEngineCall({ method, scopes }: Asked, path: string): { status: number; reason: string } | null {
  const call = findAllowedCall(method, path.split('?', 1)[0] ?? '');
  if (call === undefined) return { status: 404, reason: 'this call of the engine does not pass the router' };
  return scopes.has(call.scope) ? null : { status: 403, reason: `this call needs ${call.scope}` };
}

/** The path parameters by the patterns of an endpoint (`/adaptor/:mis/*`); null when none fits. */
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
