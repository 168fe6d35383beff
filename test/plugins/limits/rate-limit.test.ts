// Tests of the rate limit: it counts by client or by route, reports the remaining requests, refuses with 429, and
// resets at the end of its window.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Config } from '#lib/config/schema.ts';
import type { SheddingCheck } from '../../../gateway/plugin-api/plugin-api.ts';
import { setContext } from '../../../gateway/plugin-api/request-context.ts';
import { createRateLimitPolicy } from '../../../plugins/limits/rate-limit.ts';
import { MemoryRateLimitStore } from '../../../plugins/limits/store/rate-limit-store.ts';
import { createRejectionDelay } from '../../../plugins/limits/rejection-delay.ts';
import { call } from '../../stack/client.ts';
import { pollUntil } from '../../stack/poll-until.ts';
import { startLocalRouter } from '../../gateway/local-router.ts';
import { startLimitedHost } from './host.ts';

const atOnce = createRejectionDelay(0);
const stops: (() => void)[] = [];
afterEach(() => stops.splice(0).forEach((stop) => stop()));

async function startHost(action: object, config: object = {}): Promise<string> {
  const host = await startLimitedHost(
    createRateLimitPolicy(config as Config, new MemoryRateLimitStore(), atOnce),
    action,
  );
  stops.push(host.stop);
  return host.url;
}

const statuses = async (url: string, headers: Record<string, string>, times: number) =>
  (await Promise.all(Array.from({ length: times }, () => call(url, { headers })))).map(({ status }) => status).sort();
const client = (name: string) => ({ 'x-client': name });

describe('rate-limit, during load shedding', () => {
  it('lets other policies shed requests within the client’s rate, and returns `unsure` for those above it', () => {
    const config = { 'client.quick.requestsPerSecond': 4 } as unknown as Config;
    const policy = createRateLimitPolicy(config, new MemoryRateLimitStore(), atOnce);
    const { check: look } = policy.loadShedding!({ requests: 2, perSeconds: 30 } as never) as SheddingCheck;
    const ask = (clientId: string) => {
      const request = new IncomingMessage(new Socket());
      const context = { requestId: 'one', clientAddress: '192.0.2.1', route: 'movies', clientId };
      setContext(request, context);
      return look({ request, context, params: {} }) ?? 'refused by another';
    };
    expect([1, 2, 3].map(() => ask('slow'))).toEqual(['refused by another', 'refused by another', 'unsure']);
    expect([...'12345'].map(() => ask('quick')).filter((answer) => answer === 'unsure')).toHaveLength(0);
  });
});

describe('rate-limit', () => {
  it('returns 429 with Retry-After above the limit of one client, and lets other clients pass', async () => {
    const url = await startHost({ requests: 3, perSeconds: 30 });
    expect(await statuses(url, client('a'), 5)).toEqual([200, 200, 200, 429, 429]);
    expect(await statuses(url, client('b'), 3)).toEqual([200, 200, 200]);
    const refused = await call(url, { headers: client('a') });
    expect(refused.json()).toMatchObject({ type: '/problems/too-many-requests', status: 429 });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('reports the remaining requests in every response, 429 included', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const url = await startHost({ requests: 2, perSeconds: 30 });
    const seen = [];
    for (const _ of [1, 2, 3]) {
      const { headers, status } = await call(url, { headers: client('a') });
      seen.push([status, headers['ratelimit-policy'], headers['ratelimit']]);
    }
    expect(seen).toEqual([
      [200, '"client";q=2;w=30', '"client";r=1;t=30'],
      [200, '"client";q=2;w=30', '"client";r=0;t=30'],
      [429, '"client";q=2;w=30', '"client";r=0;t=30'],
    ]);
  });

  it('reports at most the length of the window after the clock was set back, and ends the window on time', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const url = await startHost({ requests: 1, perSeconds: 1 });
    await statuses(url, client('a'), 1);
    vi.setSystemTime(Date.now() - 2 * 3_600_000);
    const { status, headers } = await call(url, { headers: client('a') });
    expect([status, headers['retry-after'], headers['ratelimit']]).toEqual([429, '1', '"client";r=0;t=1']);
    await pollUntil('the window to end', async () => (await call(url, { headers: client('a') })).status === 200, {
      everyMs: 100,
    });
  });

  it('counts a request without a client by its address', async () => {
    const url = await startHost({ requests: 1, perSeconds: 30 });
    expect(await statuses(url, {}, 2)).toEqual([200, 429]);
  });

  it('does not let one route use up the limit of another', async () => {
    const url = await startHost({ requests: 1, perSeconds: 30 });
    expect(await statuses(url, { ...client('a'), 'x-route': 'one' }, 1)).toEqual([200]);
    expect(await statuses(url, { ...client('a'), 'x-route': 'other' }, 2)).toEqual([200, 429]);
  });

  it('by route: counts all clients together', async () => {
    const url = await startHost({ requests: 2, perSeconds: 30, by: 'route' });
    expect([...(await statuses(url, client('a'), 2)), ...(await statuses(url, client('b'), 1))]).toEqual([
      200, 200, 429,
    ]);
  });

  it('applies the limit of the client instead of the limit in the gateway configuration', async () => {
    const url = await startHost({ requests: 1, perSeconds: 30 }, { 'client.big.requestsPerSecond': 2 });
    expect(await statuses(url, client('big'), 61)).toEqual([...Array<number>(60).fill(200), 429]);
    expect(await statuses(url, client('small'), 2)).toEqual([200, 429]);
  });

  it('lets the client pass again after the window has ended', async () => {
    const url = await startHost({ requests: 1, perSeconds: 1 });
    expect(await statuses(url, client('a'), 2)).toEqual([200, 429]);
    await pollUntil('the window to end', async () => (await call(url, { headers: client('a') })).status === 200, {
      everyMs: 100,
    });
  });
});

describe('several rate-limit steps of one pipeline', () => {
  /** Starts a router with one route whose pipeline has these steps, and returns the status of one request. */
  async function startRouterWith(...steps: string[]) {
    const dir = mkdtempSync(join(tmpdir(), 'service-router-rate-limit-'));
    const file = join(dir, 'gateway.yml');
    writeFileSync(
      file,
      `
http: { hostname: 127.0.0.1, port: '\${router.port}' }
apiEndpoints: { counted: { paths: /counted } }
plugins:
  limits: { package: ./plugins/limits/index.ts }
  contract: { package: ./plugins/api-docs/index.ts }
policies: [rate-limit, openapi]
pipelines:
  counted:
    apiEndpoints: [counted]
    policies: [${[...steps, 'openapi: '].map((step) => `{ ${step} }`).join(', ')}]
`,
    );
    const router = await startLocalRouter({ ROUTER_GATEWAYCONFIGFILE: file });
    onTestFinished(async () => {
      await router.stop();
      rmSync(dir, { recursive: true });
    });
    return async (method: string, times: number) => {
      const found = [];
      for (let n = 0; n < times; n++) found.push((await call(`${router.url}/counted`, { method })).status === 429);
      return found;
    };
  }
  const action = 'action: { requests: 2, perSeconds: 3600 }';

  it('with different conditions: each step counts only the requests that meet its condition', async () => {
    const areLimited = await startRouterWith(
      `rate-limit: { condition: { name: method, methods: [GET] }, ${action} }`,
      `rate-limit: { condition: { name: method, methods: [POST] }, ${action} }`,
    );
    expect(await areLimited('GET', 3)).toEqual([false, false, true]);
    expect(await areLimited('POST', 3)).toEqual([false, false, true]);
  });

  it('that are equal: each step counts every request once', async () => {
    const areLimited = await startRouterWith(`rate-limit: { ${action} }`, `rate-limit: { ${action} }`);
    expect(await areLimited('GET', 3)).toEqual([false, false, true]);
  });
});
