// Tests of the domain of tasks that are dispatched directly, and of the pool that it represents.

import { expect, it } from 'vitest';
import { directDomain, isDirectDomain, poolDomain } from '#lib/conductor/executions/direct-domain.ts';

it.each([undefined, '001', 'a.b', 'direct'])(
  'pool %s: has a domain of its own, from which the pool can be derived',
  (pool) => {
    const domain = directDomain(pool);
    expect(isDirectDomain(domain)).toBe(true);
    expect(poolDomain(domain)).toBe(pool);
  },
);

it.each([undefined, '001', 'direct', 'direct-dispatching'])('domain %s belongs to a pool', (domain) => {
  expect(isDirectDomain(domain)).toBe(false);
  expect(poolDomain(domain)).toBe(domain);
});
