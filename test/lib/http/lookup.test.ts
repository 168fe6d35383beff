// Tests of host name lookups: shared queries, and reuse of addresses while the name service is slow or unavailable.

import type { LookupAddress, LookupOptions } from 'node:dns';
import { createServer, get } from 'node:http';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { createLookup, lookup } from '#lib/http/lookup.ts';
import { listenOnLoopback } from '../../../dev/loopback-server.ts';

const one: LookupAddress[] = [{ address: '192.0.2.1', family: 4 }];
const two: LookupAddress[] = [{ address: '192.0.2.2', family: 4 }];

/** Starts a name service whose queries the test itself answers. */
function startNameService() {
  const asked: { hostname: string; answer: PromiseWithResolvers<LookupAddress[]> }[] = [];
  const socketLookup = createLookup((hostname) => {
    const answer = Promise.withResolvers<LookupAddress[]>();
    asked.push({ hostname, answer });
    return answer.promise;
  });
  const look = (hostname: string, options: LookupOptions = { all: true }) => promisify(socketLookup)(hostname, options);
  return { asked, look };
}

const failure = (code: string) => Object.assign(new Error(`getaddrinfo ${code}`), { code });

describe('createLookup', () => {
  it('sends one query for concurrent lookups of a name, and another query after the response', async () => {
    const { asked, look } = startNameService();
    const both = [look('engine'), look('engine')];
    const other = look('redis');
    expect(asked.map(({ hostname }) => hostname)).toEqual(['engine', 'redis']);
    asked[0]?.answer.resolve(one);
    asked[1]?.answer.resolve(two);
    expect(await Promise.all([...both, other])).toEqual([one, one, two]);
    void look('engine');
    expect(asked).toHaveLength(3);
  });

  it('returns one address to a caller that does not request all of them', async () => {
    const { asked, look } = startNameService();
    const found = look('engine', {});
    asked[0]?.answer.resolve(one);
    expect(await found).toBe('192.0.2.1');
  });

  it('returns the last addresses while a lookup is slow, and the new ones afterwards', async () => {
    const { asked, look } = startNameService();
    const first = look('engine');
    asked[0]?.answer.resolve(one);
    await first;
    expect(await look('engine')).toEqual(one);
    asked[1]?.answer.resolve(two);
    await vi.waitFor(() => expect(asked[1]?.answer.promise).resolves.toEqual(two), { timeout: 120_000 });
    const again = look('engine');
    asked[2]?.answer.resolve(two);
    expect(await again).toEqual(two);
  });

  it('returns the last addresses when the name service fails, but not for a name that no longer exists', async () => {
    const { asked, look } = startNameService();
    const first = look('engine');
    asked[0]?.answer.resolve(one);
    await first;
    const failing = look('engine');
    asked[1]?.answer.reject(failure('EAI_AGAIN'));
    expect(await failing).toEqual(one);
    const gone = look('engine');
    asked[2]?.answer.reject(failure('ENOTFOUND'));
    await expect(gone).rejects.toThrow('ENOTFOUND');
    const unknown = look('engine');
    asked[3]?.answer.reject(failure('EAI_AGAIN'));
    await expect(unknown).rejects.toThrow('EAI_AGAIN');
  });

  it('connects a socket to a host name of this machine', async () => {
    const server = await listenOnLoopback(
      createServer((_request, response) => void response.end()),
      { host: 'localhost' },
    );
    const [response] = await once(get(server.url, { lookup }), 'response');
    response.resume();
    expect(response.statusCode).toBe(200);
    await server.close();
  });
});
