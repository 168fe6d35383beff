// Tests that the CLI gets its information about routes from the declarations of policies, not from its own code.

import { Type } from 'typebox';
import { expect, it } from 'vitest';
import type { Config } from '#lib/config/schema.ts';
import { createRouteTable } from '../../cli/gateway/route-table.ts';
import { judgeRoute } from '../../cli/commands/token/judge-route.ts';
import { declarePolicy, type PolicyDeclaration } from '../../gateway/plugin-api/plugin-api.ts';
import type { PipelineStep } from '../../gateway/plugin-api/gateway-config-schema.ts';
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
  return routeOf(quotas.map((perDay) => quota(perDay)));
}

function routeOf(steps: readonly PipelineStep[]): GatewayRoute {
  return {
    name: 'adaptor',
    endpoint: { paths: '/adaptor/:mis/*', methods: ['GET', 'POST'] },
    pipeline: 'adaptor',
    steps,
    workflows: [],
    workflow: undefined,
  };
}

function quota(perDay: number, condition?: PipelineStep['condition'] & Record<string, unknown>): PipelineStep {
  return { policy: 'quota', action: { perDay }, condition, path: [] };
}

const request = { clientId: 'demo', scopes: new Set<string>(), method: 'GET', path: '/adaptor/002/x' };
const judge = (route: GatewayRoute, changed: Partial<typeof request> = {}) =>
  judgeRoute(route, { ...request, ...changed }, { declarations, config });

it('shows the limits of every step of a policy', () => {
  const gateway = { routes: [routeWith(10, 20)], declarations };
  const [entry] = createRouteTable(gateway, config, { workflows: [], taskDefs: [], eventHandlers: [] });
  expect(entry?.limits).toEqual({
    rates: [10, 20].map((requests) => ({ by: 'client', requests, windowSeconds: 86_400 })),
    inFlight: [],
  });
});

it('returns the first refusal by a policy, and passes the path parameters to policies', () => {
  expect(judge(routeWith(10))).toMatchObject({ outcome: 'passes' });
  expect(judge(routeWith(10, 0))).toMatchObject({
    outcome: 'refused',
    status: 403,
    reason: 'demo has no quota for 002',
  });
});

it('HEAD is accepted where GET is; other methods are accepted only where the route lists them', () => {
  expect(judge(routeWith(10), { method: 'HEAD' })).toMatchObject({ outcome: 'passes' });
  expect(judge(routeWith(10), { method: 'PUT' })).toMatchObject({ outcome: 'refused', status: 405 });
});

it('a step with a condition on method or path applies only to requests that meet it', () => {
  const onPost = { name: 'method', methods: ['POST'] };
  const route = routeOf([quota(0, onPost), quota(10)]);
  expect(judge(route)).toMatchObject({ outcome: 'passes' });
  expect(judge(route, { method: 'POST' })).toMatchObject({ outcome: 'refused', status: 403 });
  const onPath = routeOf([
    quota(0, {
      name: 'allOf',
      conditions: [
        { name: 'method', methods: 'GET' },
        { name: 'pathMatch', pattern: '/002/' },
      ],
    }),
  ]);
  expect(judge(onPath)).toMatchObject({ outcome: 'refused', status: 403 });
  expect(judge(onPath, { path: '/adaptor/003/x' })).toMatchObject({ outcome: 'passes' });
});

it.each([
  ['allOf', false, 'passes'],
  ['oneOf', true, 'refused'],
])('in %s, a known condition decides, whether it comes before or after an unknown one', (name, isGet, outcome) => {
  const known = { name: 'method', methods: isGet ? ['GET'] : ['POST'] };
  const onHost = { name: 'hostMatch', pattern: 'films.example.org' };
  for (const conditions of [
    [known, onHost],
    [onHost, known],
  ]) {
    expect(judge(routeOf([quota(0, { name, conditions })]))).toMatchObject({ outcome });
  }
  const negated = {
    name: 'not',
    condition: { name: 'oneOf', conditions: [onHost, { name: 'method', methods: ['GET'] }] },
  };
  expect(judge(routeOf([quota(0, negated)]))).toMatchObject({ outcome: 'passes' });
});

it('a step whose condition needs more than is known leaves the route undecided, unless another step refuses', () => {
  const onHost = { name: 'hostMatch', pattern: 'films.example.org' };
  expect(judge(routeOf([quota(0, onHost)]))).toMatchObject({
    outcome: 'undecided',
    status: 403,
    reason: 'if hostMatch: demo has no quota for 002',
  });
  expect(judge(routeOf([quota(10, onHost)]))).toMatchObject({ outcome: 'passes' });
  expect(judge(routeOf([quota(10, onHost), quota(0)]))).toMatchObject({ outcome: 'refused' });
  const { path: _, ...withoutPath } = request;
  const onPath = routeOf([quota(0, { name: 'pathMatch', pattern: '/002/' })]);
  expect(judgeRoute(onPath, withoutPath, { declarations, config })).toMatchObject({ outcome: 'undecided' });
});
