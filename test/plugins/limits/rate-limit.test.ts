// Tests of the rate limit: it counts by client or by route, reports the remaining requests, refuses with 429, and
// resets at the end of its window.

import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Config } from '#lib/config/schema.ts';
import type { SheddingCheck } from '../../../gateway/plugin-api/plugin-api.ts';
import { setContext } from '../../../gateway/plugin-api/request-context.ts';
import { createRateLimitPolicy } from '../../../plugins/limits/rate-limit.ts';
import { MemoryRateLimitStore } from '../../../plugins/limits/store/rate-limit-store.ts';
import { createRejectionDelay } from '../../../plugins/limits/rejection-delay.ts';
import { call } from '../../stack/client.ts';
import { pollUntil } from '../../stack/poll-until.ts';
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

describe('rate-limit, before a pipeline begins', () => {
  it('lets other policies shed requests within the client’s rate, and handles those beyond it itself', () => {
    const config = { 'client.quick.requestsPerSecond': 4 } as unknown as Config;
    const policy = createRateLimitPolicy(config, new MemoryRateLimitStore(), atOnce);
    const { check: look } = policy.loadShedding?.({ requests: 2, perSeconds: 30 } as never) as SheddingCheck;
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
  it('more than the allowed requests of one client: 429 with Retry-After, other clients pass', async () => {
    const url = await startHost({ requests: 3, perSeconds: 30 });
    expect(await statuses(url, client('a'), 5)).toEqual([200, 200, 200, 429, 429]);
    expect(await statuses(url, client('b'), 3)).toEqual([200, 200, 200]);
    const refused = await call(url, { headers: client('a') });
    expect(refused.json()).toMatchObject({ type: '/problems/too-many-requests', status: 429 });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('every response has the remaining requests, 429 included', async () => {
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

  it('a request without a client is counted by its address', async () => {
    const url = await startHost({ requests: 1, perSeconds: 30 });
    expect(await statuses(url, {}, 2)).toEqual([200, 429]);
  });

  it('one route does not use up the limit of another', async () => {
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

  it('applies the limit of the client instead of the limit of the gateway configuration', async () => {
    const url = await startHost({ requests: 1, perSeconds: 30 }, { 'client.big.requestsPerSecond': 2 });
    expect(await statuses(url, client('big'), 61)).toEqual([...Array<number>(60).fill(200), 429]);
    expect(await statuses(url, client('small'), 2)).toEqual([200, 429]);
  });

  it('after the window has ended: the client passes again', async () => {
    const url = await startHost({ requests: 1, perSeconds: 1 });
    expect(await statuses(url, client('a'), 2)).toEqual([200, 429]);
    await pollUntil('the window to be over', async () => (await call(url, { headers: client('a') })).status === 200, {
      everyMs: 100,
    });
  });
});
