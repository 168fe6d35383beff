// Tests of listing worker pools with their workers and waiting tasks, and event queues without an active handler.

import { describe, expect, it } from 'vitest';
import { type PoolFacts, poolsOf, unheardQueues } from '#lib/conductor/metadata/worker-pools.ts';
import { definitionsFor } from '../definitions/copy-of-product.ts';

const now = 1_800_000_000_000;
const definitions = definitionsFor();
const poolsWith = (facts: Partial<PoolFacts>) =>
  poolsOf(definitions, { pollData: [], queues: {}, staleAfterMs: 90_000, now, ...facts });

describe('worker pools', () => {
  it('no worker has ever polled: lists the domains that handlers use, and the default pool of other task types', () => {
    const pools = poolsWith({});
    const taskTypes = definitions.taskDefs.map(({ definition }) => definition['name']);
    expect(pools.map(({ taskType }) => taskType)).toEqual(taskTypes.toSorted());
    for (const pool of pools) {
      const domain = pool.taskType === 'mdm_share' ? { domain: '002' } : {};
      expect(pool).toEqual({ taskType: pool.taskType, ...domain, waiting: 0, workers: [] });
    }
  });

  it('polls: grouped by pool, with old polls marked', () => {
    const pollData = [
      { queueName: 'movies_intake', workerId: 'w1', lastPollTime: now - 3_000 },
      { queueName: 'college-adaptor_intake', domain: '002', workerId: 'w2', lastPollTime: now - 100_000 },
      { queueName: 'somebody_elses', workerId: 'w3', lastPollTime: now },
    ];
    const pools = poolsWith({ pollData });
    expect(pools).toContainEqual({
      taskType: 'movies_intake',
      waiting: 0,
      workers: [{ workerId: 'w1', lastPollSecondsAgo: 3, stale: false }],
    });
    expect(pools).toContainEqual({
      taskType: 'college-adaptor_intake',
      domain: '002',
      waiting: 0,
      workers: [{ workerId: 'w2', lastPollSecondsAgo: 100, stale: true }],
    });
    expect(pools.map(({ taskType }) => taskType)).not.toContain('somebody_elses');
  });

  it('lists the default pool of a task type first, then its domains by name', () => {
    const queues = { '003:movies_intake': 1, movies_intake: 1, '002:movies_intake': 1 };
    const pools = poolsWith({ queues }).filter(({ taskType }) => taskType === 'movies_intake');
    expect(pools.map(({ domain }) => domain)).toEqual([undefined, '002', '003']);
  });

  it('tasks wait in a domain that no worker polls: the pool is listed', () => {
    expect(poolsWith({ queues: { '003:college-adaptor_intake': 4, movies_intake: 2 } })).toEqual(
      expect.arrayContaining([
        { taskType: 'college-adaptor_intake', domain: '003', waiting: 4, workers: [] },
        { taskType: 'movies_intake', waiting: 2, workers: [] },
      ]),
    );
  });

  it('tasks that are dispatched directly wait for the workers of their pool', () => {
    const queues = { '002:college-adaptor_intake': 1, 'direct-dispatch.002:college-adaptor_intake': 2 };
    expect(poolsWith({ queues: { ...queues, 'direct-dispatch:movies_intake': 3 } })).toEqual(
      expect.arrayContaining([
        { taskType: 'college-adaptor_intake', domain: '002', waiting: 3, workers: [] },
        { taskType: 'movies_intake', waiting: 3, workers: [] },
      ]),
    );
  });

  it('a router that polls for orphaned, directly dispatched tasks: is listed neither as a pool nor as a worker', () => {
    const search = { workerId: 'router', lastPollTime: now - 200_000 };
    const pollData = [
      { queueName: 'movies_intake', domain: 'direct-dispatch', ...search },
      { queueName: 'college-adaptor_intake', domain: 'direct-dispatch.002', ...search },
      { queueName: 'college-adaptor_intake', domain: '002', workerId: 'w', lastPollTime: now },
    ];
    const pools = poolsWith({ pollData, queues: { 'direct-dispatch:movies_intake': 1 } });
    expect(pools.filter(({ taskType }) => /^(movies|college-adaptor)_intake$/.test(taskType))).toEqual([
      {
        taskType: 'college-adaptor_intake',
        domain: '002',
        waiting: 0,
        workers: [{ workerId: 'w', lastPollSecondsAgo: 0, stale: false }],
      },
      { taskType: 'movies_intake', waiting: 1, workers: [] },
    ]);
  });

  it('returns the event queues that contain events but have no active handler, and ignores task queues', () => {
    const registered = {
      workflows: [{ name: 'mdmWF', version: 1 }],
      eventHandlers: [
        { name: 'a', event: 'conductor:mdmWF:heard', active: true },
        { name: 'b', event: 'conductor:mdmWF:asleep', active: false },
      ],
    };
    const queues = {
      'mdmWF:heard': 1,
      'mdmWF:asleep': 2,
      'mdmWF:nobody': 3,
      'mdmWF:empty': 0,
      '002:mdm_share': 4,
      mdm_notify: 5,
    };
    expect(unheardQueues(registered, queues)).toEqual({ 'conductor:mdmWF:asleep': 2, 'conductor:mdmWF:nobody': 3 });
  });
});
