// Tests of the in-flight limit: it limits concurrent requests, and releases a permit when its request ends, however it
// ends.

import { afterEach, describe, expect, it } from 'vitest';
import type { Config } from '#lib/config/schema.ts';
import { createInFlightPolicy } from '../../../plugins/limits/in-flight.ts';
import { MemoryConcurrencyStore } from '../../../plugins/limits/store/concurrency-store.ts';
import { createRejectionDelay } from '../../../plugins/limits/rejection-delay.ts';
import { call } from '../../stack/client.ts';
import { pollUntil } from '../../stack/poll-until.ts';
import { type LimitedHost, startLimitedHost } from './host.ts';

const atOnce = createRejectionDelay(0);
const stops: (() => void)[] = [];
afterEach(() => stops.splice(0).forEach((stop) => stop()));

async function startHost(action: object, config: object = {}): Promise<LimitedHost> {
  const host = await startLimitedHost(
    createInFlightPolicy(config as Config, new MemoryConcurrencyStore(), atOnce),
    action,
  );
  stops.push(host.stop);
  return host;
}

const client = (name: string) => ({ headers: { 'x-client': name } });

describe('in-flight', () => {
  it('returns 429 with Retry-After above the limit, lets other clients pass, and releases permits', async () => {
    const host = await startHost({ requests: 2 });
    const held = [1, 2].map(() => call(`${host.url}/held`, client('a')));
    await pollUntil('both requests to be held', () => host.held === 2);
    const refused = await call(host.url, client('a'));
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1']);
    expect(refused.json()).toMatchObject({ detail: 'At most 2 requests at a time.' });
    expect((await call(host.url, client('b'))).status).toBe(200);
    host.letGo();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
    await pollUntil('a permit to be free', async () => (await call(host.url, client('a'))).status === 200);
  });

  it('releases the permit of a client that disconnects', async () => {
    const host = await startHost({ requests: 1 });
    const leave = new AbortController();
    const held = call(`${host.url}/held`, { ...client('a'), signal: leave.signal }).catch(() => 'gone');
    await pollUntil('the request to be held', () => host.held === 1);
    leave.abort();
    expect(await held).toBe('gone');
    await pollUntil('the permit to be free', async () => (await call(host.url, client('a'))).status === 200);
  });

  it('by route: counts all clients together', async () => {
    const host = await startHost({ requests: 1, by: 'route' });
    const held = call(`${host.url}/held`, client('a'));
    await pollUntil('the request to be held', () => host.held === 1);
    expect((await call(host.url, client('b'))).status).toBe(429);
    host.letGo();
    await held;
  });

  it('without parameters: limits only clients with a limit of their own', async () => {
    const host = await startHost({}, { 'client.loud.maxInFlight': 1 });
    const held = ['loud', 'quiet'].map((name) => call(`${host.url}/held`, client(name)));
    await pollUntil('both requests to be held', () => host.held === 2);
    expect((await call(host.url, client('loud'))).status).toBe(429);
    expect((await call(host.url, client('quiet'))).status).toBe(200);
    host.letGo();
    await Promise.all(held);
  });
});
