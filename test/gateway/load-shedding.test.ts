// Tests of load shedding: it rejects only requests that the policies of their own pipeline would reject, and only while
// some policy is rejecting.

import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import {
  contextOf,
  declarePolicy,
  definePolicy,
  type SheddingCheck,
  type SheddingRequest,
} from '../../gateway/plugin-api/plugin-api.ts';
import { setContext } from '../../gateway/plugin-api/request-context.ts';
import { LoadShedding } from '../../gateway/pipelines/load-shedding.ts';
import { type GatewayConfig, stepsOf } from '../../gateway/plugin-api/gateway-config-schema.ts';
import { routesOf } from '../../gateway/plugin-api/gateway-routes.ts';
import { Problem } from '#lib/problem/problem.ts';

const config: GatewayConfig = {
  http: { port: 0, hostname: '127.0.0.1' },
  apiEndpoints: {
    movies: { paths: '/movies/:title', methods: ['GET'] },
    adaptor: { paths: ['/adaptor/:mis', '/adaptor/:mis/*'] },
    status: { paths: '/movies/:title/status' },
    health: { paths: '/colleges/:mis/health' },
    colleges: { paths: '/colleges/:mis/*' },
    strangers: { paths: '/strangers' },
    late: { paths: '/late' },
    other: { paths: '/conditional', methods: ['GET'] },
    ofHost: { paths: '/of-host', host: 'one.example' },
    sameForAll: { paths: '/of-host' },
  },
  plugins: { all: { package: './all.ts' } },
  policies: ['known', 'full', 'silent', 'answers'],
  pipelines: {
    // Express Gateway matches endpoints in the order of `apiEndpoints` above, not in the order of the pipelines.
    limited: {
      apiEndpoints: ['movies', 'adaptor', 'ofHost', 'sameForAll', 'colleges'],
      policies: [{ known: null }, { full: null }, { answers: null }],
    },
    free: { apiEndpoints: ['status', 'health'], policies: [{ known: null }, { answers: null }] },
    guarded: {
      apiEndpoints: ['strangers'],
      policies: [{ known: null }, { silent: null }, { full: null }, { answers: null }],
    },
    silentBehind: {
      apiEndpoints: ['late'],
      policies: [{ known: null }, { full: null }, { silent: null }, { answers: null }],
    },
    conditional: {
      apiEndpoints: ['other'],
      policies: [{ known: [{ condition: { name: 'always' } }] }, { full: null }, { answers: null }],
    },
  },
};

function createRefusals({ isShedding = true, known = true } = {}) {
  const looked: Pick<SheddingRequest, 'params'>[] = [];
  const policy = (name: string, check?: SheddingCheck) =>
    definePolicy(declarePolicy({ name, schema: Type.Object({}) }), {
      create: () => () => undefined,
      ...(check === undefined ? {} : { loadShedding: () => check }),
    });
  const full: SheddingCheck = {
    isShedding: () => isShedding,
    check({ params }) {
      looked.push({ params });
      throw new Problem('overloaded');
    },
  };
  const policies = [
    policy('known', { check: () => (known ? undefined : 'unsure') }),
    policy('full', full),
    policy('silent'),
    policy('answers'),
  ];
  const steps = new Map(Object.keys(config.pipelines).map((name) => [name, stepsOf(config, name)]));
  const refusals = new LoadShedding(routesOf(config, steps), new Map(policies.map((each) => [each.name, each])));
  const check = (url: string, method = 'GET') => {
    const request = Object.assign(new IncomingMessage(new Socket()), { method, url });
    setContext(request, { requestId: 'one', clientAddress: '192.0.2.1', route: 'none' });
    try {
      refusals.check(request);
      return { refused: false, route: contextOf(request).route, request };
    } catch (error) {
      expect(error).toMatchObject({ code: 'overloaded' });
      return { refused: true, route: contextOf(request).route, request };
    }
  };
  return { check, looked };
}

describe('while a policy is rejecting', () => {
  it.each([
    ['/movies/Metropolis', 'GET', 'movies'],
    ['/movies/Metropolis?year=1927', 'HEAD', 'movies'],
    ['/adaptor/001/mock/persons', 'PATCH', 'adaptor'],
    ['/ADAPTOR/001/', 'POST', 'adaptor'],
    ['/colleges/001/students', 'GET', 'colleges'],
    ['/late', 'GET', 'late'],
  ])('%s %s: rejected, and attributed to its route', (url, method, route) => {
    const { check } = createRefusals();
    expect(check(url, method)).toMatchObject({ refused: true, route });
  });

  it.each([
    ['another method, which is not allowed', '/movies/Metropolis', 'POST'],
    ['an unknown path', '/movies', 'GET'],
    ['a route whose pipeline rejects nothing', '/movies/Metropolis/status', 'GET'],
    ['an endpoint that is matched before an endpoint that would reject', '/colleges/001/health', 'GET'],
    ['a policy without a shedding check, before a policy that would reject', '/strangers', 'GET'],
    ['a pipeline in which an earlier policy has a condition', '/conditional', 'GET'],
    ['an endpoint for one host, with the same path as another endpoint', '/of-host', 'GET'],
  ])('%s: not rejected', (_title, url, method) => {
    const { check, looked } = createRefusals();
    expect(check(url, method).refused).toBe(false);
    expect(looked).toEqual([]);
  });

  it('passes decoded path parameters to the check and leaves the request unchanged', () => {
    const { check, looked } = createRefusals();
    const { request } = check('/adaptor/0%301/mock/persons');
    expect(looked[0]?.params).toMatchObject({ mis: '001', 0: 'mock/persons' });
    expect(request.url).toBe('/adaptor/0%301/mock/persons');
    expect((request as { params?: unknown }).params).toBeUndefined();
  });

  it('does not reject the request when an earlier check is unsure', () => {
    const { check, looked } = createRefusals({ known: false });
    expect(check('/movies/Metropolis').refused).toBe(false);
    expect(looked).toEqual([]);
  });
});

it('runs no check while no policy is rejecting', () => {
  const { check, looked } = createRefusals({ isShedding: false });
  const { request, ...outcome } = check('/movies/Metropolis');
  expect(outcome).toEqual({ refused: false, route: 'none' });
  expect(looked).toEqual([]);
  expect(Object.keys(request), 'Express has not handled the request').not.toContain('baseUrl');
});
