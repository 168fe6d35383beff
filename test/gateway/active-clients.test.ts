// Clients are counted by route for five minutes, and their number has an end.

import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { ActiveClients } from '../../gateway/server/active-clients.ts';

it('a client counts once on each route, and no longer when it has been silent for five minutes', () => {
  const clients = new ActiveClients(new Registry());
  clients.note('movies', 'a', 0);
  clients.note('movies', 'b', 1_000);
  clients.note('movies', 'a', 200_000);
  clients.note('adaptor', 'a', 200_000);
  expect([clients.count('movies', 300_000), clients.count('adaptor', 300_000)]).toEqual([2, 1]);
  expect(clients.count('movies', 301_001)).toBe(1);
  expect(clients.count('movies', 500_001)).toBe(0);
  expect(clients.count('nowhere', 0)).toBe(0);
});

it('the metric has the number and no name', async () => {
  const metrics = new Registry();
  const clients = new ActiveClients(metrics);
  for (const client of ['marker-one', 'marker-two']) clients.note('movies', client);
  const text = await metrics.metrics();
  expect(text).toContain('router_active_clients{route="movies"} 2');
  expect(text).not.toContain('marker');
});

it('a flood of client names: the latest ten thousand are remembered', () => {
  const clients = new ActiveClients(new Registry());
  for (let index = 0; index < 12_000; index++) clients.note('movies', `c${index}`, 0);
  expect(clients.count('movies', 1)).toBe(10_000);
});
