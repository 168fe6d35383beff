// Tests of shared resources: they are created once for each set of inputs, and when their last user releases them, they
// are stopped and removed from the metrics.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { Counter, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { Config } from '#lib/config/schema.ts';
import type { SharedServices } from '../../../gateway/plugin-api/plugin-api.ts';
import { SharedResources } from '../../../gateway/snapshots/shared-resources.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';

function setUp() {
  const metrics = new Registry();
  const resources = new SharedResources({
    config: {} as Config,
    log: createLog('test', 'silent'),
    metrics,
    draining: new AbortController().signal,
  });
  const stopped: string[] = [];
  const make = (name: string) => (services: SharedServices) => {
    new Counter({ name: `router_${name}`, help: name, registers: [services.metrics] });
    services.addReadinessNotice(name, () => [`${name} is here`]);
    services.onStop(name, async () => void stopped.push(name));
    return { name };
  };
  return { metrics, resources, stopped, make };
}

it('shares a resource between users with the same inputs and stops it when the last user releases it', async () => {
  const { metrics, resources, stopped, make } = setUp();
  const [first, second] = [{}, {}];
  const made = resources.use(first, { name: 'a', from: ['x'] }, make('a'));
  expect(resources.use(second, { name: 'a', from: ['x'] }, make('other'))).toBe(made);
  await resources.release(first);
  expect(stopped).toEqual([]);
  expect(metrics.getSingleMetric('router_a')).toBeDefined();
  await resources.release(second);
  expect(stopped).toEqual(['a']);
  expect(metrics.getSingleMetric('router_a')).toBeUndefined();
  expect(resources.size).toBe(0);
  expect(resources.readiness).toEqual([]);
});

it('creates another resource for other inputs', async () => {
  const { resources, make } = setUp();
  const made = resources.use({}, { name: 'a', from: ['x'] }, make('a'));
  expect(resources.use({}, { name: 'a', from: ['y'] }, make('b'))).not.toBe(made);
  expect(resources.size).toBe(2);
});

it('stops resources in the reverse order of creation', async () => {
  const { resources, stopped, make } = setUp();
  const user = {};
  for (const name of ['a', 'b', 'c']) resources.use(user, { name, from: [] }, make(name));
  await resources.release(user);
  expect(stopped).toEqual(['c', 'b', 'a']);
});

it('leaves nothing behind when a resource cannot be created, and can create it later', async () => {
  const { metrics, resources, stopped, make } = setUp();
  const fail = (services: SharedServices) => {
    make('a')(services);
    throw new Error('not today');
  };
  expect(() => resources.use({}, { name: 'a', from: [] }, fail)).toThrow('not today');
  expect(metrics.getSingleMetric('router_a')).toBeUndefined();
  expect(resources.size).toBe(0);
  await Promise.resolve();
  expect(stopped).toEqual(['a']);
  resources.use({}, { name: 'a', from: [] }, make('a'));
});

it('a release waits for the clean-up of a resource that could not be created', async () => {
  const { resources, stopped } = setUp();
  const { promise: connectionClosed, resolve: closeConnection } = Promise.withResolvers<void>();
  const fail = ({ onStop }: SharedServices): never => {
    onStop('connection', async () => {
      await connectionClosed;
      stopped.push('connection');
    });
    throw new Error('not today');
  };
  const user = {};
  expect(() => resources.use(user, { name: 'a', from: [] }, fail)).toThrow('not today');
  const released = resources.release(user).then(() => stopped.push('user'));
  await nextTurn();
  closeConnection();
  await released;
  expect(stopped).toEqual(['connection', 'user']);
});

it('registers metrics once when a resource is created again during its release', async () => {
  const { metrics, resources, make } = setUp();
  const user = {};
  resources.use(user, { name: 'a', from: [] }, make('a'));
  const released = resources.release(user);
  resources.use({}, { name: 'a', from: [] }, make('a'));
  await released;
  expect(metrics.getSingleMetric('router_a')).toBeDefined();
});
