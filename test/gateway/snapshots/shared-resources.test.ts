// Parts that outlive a configuration: made once, made anew for other values, stopped after the last user, gone from the metrics.

import { Counter, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { Config } from '#lib/config/schema.ts';
import type { SharedServices } from '../../../gateway/plugin-api/plugin-api.ts';
import { SharedResources } from '../../../gateway/snapshots/shared-resources.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';

function setUp() {
  const metrics = new Registry();
  const parts = new SharedResources({
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
  return { metrics, parts, stopped, make };
}

it('two users of the same values share one; it is stopped when the second has gone', async () => {
  const { metrics, parts, stopped, make } = setUp();
  const [first, second] = [{}, {}];
  const made = parts.use(first, { name: 'a', from: ['x'] }, make('a'));
  expect(parts.use(second, { name: 'a', from: ['x'] }, make('other'))).toBe(made);
  await parts.release(first);
  expect(stopped).toEqual([]);
  expect(metrics.getSingleMetric('router_a')).toBeDefined();
  await parts.release(second);
  expect(stopped).toEqual(['a']);
  expect(metrics.getSingleMetric('router_a')).toBeUndefined();
  expect(parts.size).toBe(0);
  expect(parts.readiness).toEqual([]);
});

it('other values: another part, beside the first one', async () => {
  const { parts, make } = setUp();
  const made = parts.use({}, { name: 'a', from: ['x'] }, make('a'));
  expect(parts.use({}, { name: 'a', from: ['y'] }, make('b'))).not.toBe(made);
  expect(parts.size).toBe(2);
});

it('stops in the reverse order of the making', async () => {
  const { parts, stopped, make } = setUp();
  const user = {};
  for (const name of ['a', 'b', 'c']) parts.use(user, { name, from: [] }, make(name));
  await parts.release(user);
  expect(stopped).toEqual(['c', 'b', 'a']);
});

it('a part that cannot be made leaves nothing behind, and can be made later', async () => {
  const { metrics, parts, stopped, make } = setUp();
  const fail = (services: SharedServices) => {
    make('a')(services);
    throw new Error('not today');
  };
  expect(() => parts.use({}, { name: 'a', from: [] }, fail)).toThrow('not today');
  expect(metrics.getSingleMetric('router_a')).toBeUndefined();
  expect(parts.size).toBe(0);
  await Promise.resolve();
  expect(stopped).toEqual(['a']);
  parts.use({}, { name: 'a', from: [] }, make('a'));
});

it('a release while another has it made again: its metrics are registered once', async () => {
  const { metrics, parts, make } = setUp();
  const user = {};
  parts.use(user, { name: 'a', from: [] }, make('a'));
  const released = parts.release(user);
  parts.use({}, { name: 'a', from: [] }, make('a'));
  await released;
  expect(metrics.getSingleMetric('router_a')).toBeDefined();
});
