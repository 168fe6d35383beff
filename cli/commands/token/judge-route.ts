// Evaluates whether a route accepts a request, using the code of the route's policies.

import type { Config } from '#lib/config/schema.ts';
import { evaluateCondition } from '../../../gateway/configuration/evaluate-condition.ts';
import type { GatewayRoute } from '../../../gateway/plugin-api/gateway-routes.ts';
import { methodsOf, pathsOf } from '../../../gateway/plugin-api/gateway-config-schema.ts';
import type { PlannedRequest, PolicyDeclaration } from '../../../gateway/plugin-api/policy.ts';
import { decodeSegment } from '#lib/http/percent-encoding.ts';

/** The result for one route and method. */
export interface Judgement {
  readonly route: string;
  readonly method: string;
  /** `undecided`: refused only if a condition is met that depends on more than method and path. */
  readonly outcome: 'passes' | 'refused' | 'undecided';
  /** HTTP status of the response when the request is refused or may be refused. */
  readonly status?: number;
  readonly reason?: string;
}

/**
 * Evaluates the methods, paths and policies of a route in order, and returns the first certain refusal, or else the
 * first possible one. Rate limits and admission are ignored, since they depend on the current load.
 */
export function judgeRoute(
  route: GatewayRoute,
  request: Omit<PlannedRequest, 'params'>,
  { declarations, config }: { declarations: ReadonlyMap<string, PolicyDeclaration>; config: Config },
): Judgement {
  const { name, endpoint } = route;
  const { method, path } = request;
  const judged = (outcome: Judgement['outcome'], status: number, reason: string): Judgement => ({
    route: name,
    method,
    outcome,
    status,
    reason,
  });
  const refused = (status: number, reason: string) => judged('refused', status, reason);
  const methods = methodsOf(endpoint);
  if (!methods.includes(method)) return refused(405, `only ${methods.join(', ')}`);
  const params = path === undefined ? {} : parametersOf(pathsOf(endpoint), path);
  if (params === null) return refused(404, `${path} is not a path of this route (${pathsOf(endpoint).join(', ')})`);
  let possible: Judgement | undefined;
  for (const { policy, action, condition } of route.steps) {
    const isMet = evaluateCondition(condition, request);
    if (isMet === false) continue;
    const refusal = declarations.get(policy)?.judge?.(action as never, { ...request, params }, config);
    if (refusal === undefined) continue;
    if (isMet) return refused(refusal.status, refusal.reason);
    possible ??= judged('undecided', refusal.status, `if ${condition?.name}: ${refusal.reason}`);
  }
  return possible ?? { route: name, method, outcome: 'passes' };
}

/** Returns the path parameters that an endpoint's patterns (`/adaptor/:mis/*`) yield, or null when none matches. */
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
      fixed.flatMap((part, index) =>
        part.startsWith(':') ? [[part.slice(1), decodeSegment(segments[index] ?? '')]] : [],
      ),
    );
  }
  return null;
}
