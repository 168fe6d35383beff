// Tests of the queues that need workers: the task types and domains that a configuration schedules.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '#lib/config/schema.ts';
import { forColleges } from '#lib/conductor/definitions/for-colleges.ts';
import { loadDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import { type StartedWorkflow, workerQueues } from '#lib/conductor/definitions/worker-queues.ts';
import { type CopyOfProduct, copyOfProduct } from './copy-of-product.ts';

let copy: CopyOfProduct;
beforeEach(() => {
  copy = copyOfProduct();
});
afterEach(() => copy.dispose());

const adaptors = { name: 'college-adaptorWF', domainOf: 'mis' };

function queuesOf(keys: Record<string, string>, started: readonly StartedWorkflow[]) {
  const config = keys as unknown as Config;
  return workerQueues(forColleges(loadDefinitions(copy.dir), config), started, config);
}

/** Returns the domains of each task type; '' is the default pool. */
function domainsByType(keys: Record<string, string>, started: readonly StartedWorkflow[] = [adaptors]) {
  const byType = Map.groupBy(queuesOf(keys, started), ({ taskType }) => taskType);
  return Object.fromEntries(
    [...byType].map(([taskType, found]) => [taskType, found.map(({ domain }) => domain ?? '')]),
  );
}

/** Adds an event handler that starts moviesWF. */
function addHandler(taskToDomain: object, active = true): void {
  const start = { name: 'moviesWF', version: 1, correlationId: '${x}', taskToDomain, input: {} };
  const actions = [{ action: 'start_workflow', start_workflow: start }];
  copy.write('event-handlers/other.json', JSON.stringify({ name: 'other', event: 'conductor:a:b', active, actions }));
}

describe('a route with domainOf', () => {
  const urls = { 'adaptor.001.url': 'http://x', 'adaptor.002.url': 'http://x' };
  const intake = 'college-adaptor_intake';
  it.each([
    ['each college has a domain', { ...urls, 'adaptor.001.domain': 'a', 'adaptor.002.domain': '002' }, ['a', '002']],
    ['two colleges share a domain', { ...urls, 'adaptor.001.domain': 'a', 'adaptor.002.domain': 'a' }, ['a']],
    ['only the workers know the URLs', { 'adaptor.001.domain': 'a', 'adaptor.002.domain': '002' }, ['', 'a', '002']],
    ['one college has no domain', { 'adaptor.001.url': 'http://x', 'adaptor.002.domain': '002' }, ['', '002']],
    ['any MIS code is served', { 'adaptor.url': 'http://x', 'adaptor.002.domain': '002' }, ['', '002']],
    ['no college has a domain', { 'adaptor.001.url': 'http://x' }, ['']],
    ['no college is configured', {}, ['']],
    ['the only college has a URL and domain', { 'adaptor.002.url': 'http://x', 'adaptor.002.domain': '002' }, ['002']],
  ])('%s → the domains, and the default pool where a college needs it', (_title, keys, domains) => {
    expect(domainsByType(keys)[intake]).toEqual(domains);
  });

  describe('workers are expected for a route', () => {
    const keys = { 'adaptor.url': 'http://x', 'adaptor.002.domain': '002' };
    const plain = { name: 'moviesWF', domainOf: 'mis' };
    const expectedIn = (taskType: string, started: readonly StartedWorkflow[]) =>
      queuesOf(keys, started).flatMap((queue) =>
        queue.taskType === taskType && queue.isExpected ? [queue.domain ?? ''] : [],
      );

    it('that leads to college adaptors: in the default pool and in each domain', () => {
      expect(expectedIn(intake, [adaptors])).toEqual(['', '002']);
    });

    it('that leads to a plain back end: only in the default pool, because not every college has this back end', () => {
      expect(domainsByType(keys, [plain])['movies_intake']).toEqual(['002', '']);
      expect(expectedIn('movies_intake', [plain])).toEqual(['']);
    });

    it('that leads to a plain back end whose tasks an event handler schedules in a domain: also in that domain', () => {
      addHandler({ '*': '002' });
      expect(expectedIn('movies_intake', [plain]).toSorted()).toEqual(['', '002']);
    });
  });
});

it('a route without domainOf schedules its tasks in the default pool', () => {
  const keys = { 'adaptor.002.domain': '002' };
  expect(domainsByType(keys, [{ name: 'moviesWF' }, { name: 'moviesWF' }])['movies_intake']).toEqual(['']);
});

describe('an event handler', () => {
  it('of the product: the shares of a college are in its domain, the notifications in the default pool', () => {
    const { mdm_notify, mdm_share } = domainsByType({ 'adaptor.002.domain': '002', 'adaptor.003.domain': 'b' });
    expect([mdm_notify, mdm_share]).toEqual([[''], ['002', 'b']]);
  });

  it('no college has a domain → the task type mdm_share needs no workers', () => {
    expect(domainsByType({})['mdm_share']).toBeUndefined();
  });

  it.each([
    [{ movies_intake: '002' }, ['002']],
    [{ '*': '002' }, ['002']],
    [{ movies_intake: '003', '*': '002' }, ['003']],
    [{ '*': 'NO_DOMAIN' }, ['']],
    [{}, ['']],
    [{ '*': '002,NO_DOMAIN' }, undefined],
  ])('taskToDomain %j → %j', (taskToDomain, domains) => {
    addHandler(taskToDomain);
    expect(domainsByType({})['movies_intake']).toEqual(domains);
  });

  it('that is not active schedules nothing', () => {
    addHandler({}, false);
    expect(domainsByType({})['movies_intake']).toBeUndefined();
  });
});
