// Tests of active clients per route: counted for five minutes, with an upper bound.

import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { ActiveClients } from '../../gateway/server/active-clients.ts';

it('counts a client once per route, until five minutes after its last request', () => {
  const clients = new ActiveClients(new Registry());
  clients.record('movies', 'a', 0);
  clients.record('movies', 'b', 1_000);
  clients.record('movies', 'a', 200_000);
  clients.record('adaptor', 'a', 200_000);
  expect([clients.count('movies', 300_000), clients.count('adaptor', 300_000)]).toEqual([2, 1]);
  expect(clients.count('movies', 301_001)).toBe(1);
  expect(clients.count('movies', 500_001)).toBe(0);
  expect(clients.count('nowhere', 0)).toBe(0);
});

it('exports the number of clients without their names', async () => {
  const metrics = new Registry();
  const clients = new ActiveClients(metrics);
  for (const client of ['marker-one', 'marker-two']) clients.record('movies', client);
  const text = await metrics.metrics();
  expect(text).toContain('router_active_clients{route="movies"} 2');
  expect(text).not.toContain('marker');
});

it('remembers at most the latest ten thousand clients of a route', () => {
  const clients = new ActiveClients(new Registry());
  for (let index = 0; index < 12_000; index++) clients.record('movies', `c${index}`, 0);
  expect(clients.count('movies', 1)).toBe(10_000);
});
