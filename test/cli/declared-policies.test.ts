// The CLI gets its information about routes from the declarations of their policies, not from its own code.

import { Type } from 'typebox';
import { expect, it } from 'vitest';
import type { Config } from '#lib/config/schema.ts';
import { createRouteTable } from '../../cli/gateway/route-table.ts';
import { judgeRoute } from '../../cli/commands/token/judge-route.ts';
import { declarePolicy, type PolicyDeclaration } from '../../gateway/plugin-api/plugin-api.ts';
import type { GatewayRoute } from '../../gateway/plugin-api/gateway-routes.ts';

const config = {} as Config;
const declarations = new Map<string, PolicyDeclaration>([
  [
    'quota',
    declarePolicy({
      name: 'quota',
      schema: Type.Object({ perDay: Type.Integer() }),
      limits: ({ perDay }) => ({ rates: [{ by: 'client', requests: perDay, windowSeconds: 86_400 }] }),
      judge: ({ perDay }, { clientId, params }) =>
        perDay === 0 ? { status: 403, reason: `${clientId} has no quota for ${params['mis']}` } : undefined,
    }),
  ],
]);

function routeWith(...quotas: readonly number[]): GatewayRoute {
  return {
    name: 'adaptor',
    endpoint: { paths: '/adaptor/:mis/*', methods: ['GET'] },
    pipeline: 'adaptor',
    steps: quotas.map((perDay) => ({ policy: 'quota', action: { perDay }, condition: undefined, path: [] })),
    workflow: undefined,
  };
}

it('shows the limits of every step of a policy', () => {
  const gateway = { routes: [routeWith(10, 20)], declarations };
  const [entry] = createRouteTable(gateway, config, { workflows: [], taskDefs: [], eventHandlers: [] });
  expect(entry?.limits).toEqual({
    rates: [10, 20].map((requests) => ({ by: 'client', requests, windowSeconds: 86_400 })),
    inFlight: [],
  });
});

it('returns the first refusal by a policy, and gives policies the path parameters', () => {
  const request = { clientId: 'demo', scopes: new Set<string>(), method: 'GET', path: '/adaptor/002/x' };
  const rules = { declarations, config };
  expect(judgeRoute(routeWith(10), request, rules)).toMatchObject({ outcome: 'passes' });
  expect(judgeRoute(routeWith(10, 0), request, rules)).toMatchObject({
    outcome: 'refused',
    status: 403,
    reason: 'demo has no quota for 002',
  });
});
