// Tests of execution records in a real Redis, and of the index that uses them to find executions.

import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { NoExecutionIndex } from '#lib/conductor/executions/execution-index.ts';
import { IndexPresence } from '#lib/conductor/executions/index-presence.ts';
import { loadConfig } from '#lib/config/load.ts';
import type { Config } from '#lib/config/schema.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { SendRequest } from '#lib/conductor/send-call.ts';
import type { StartWorkflowRequest, Task } from '#lib/conductor/types.ts';
import { createExecutionApi, createRecords } from '#lib/records/chosen-index.ts';
import { ExecutionRecords } from '#lib/records/execution-records.ts';
import { openExecutions } from '#lib/records/open-executions.ts';
import { RecordedIndex } from '#lib/records/recorded-index.ts';
import { RedisRecorder } from '#lib/records/recorder.ts';
import type { ReportDropped } from '#lib/records/report-dropped.ts';
import { Redis } from '#lib/redis/redis.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { prune } from '../../../jobs/prune/prune.ts';
import { pruneExecutions } from '../../../jobs/prune/prune-executions.ts';
import { pollUntil } from '../../stack/poll-until.ts';
import { requires } from '../../run/requirements.ts';
import { type RedisServer, startRedisServer } from '../../stack/redis-server.ts';
import { type EngineWithoutIndex, engineWithoutIndex } from './engine-without-index.ts';

const log = createLog('test', 'silent');
const dayMs = 86_400_000;
const open = ['RUNNING', 'PAUSED'] as const;

describe('records of executions', requires('redis'), () => {
  let server: RedisServer;
  let redis: Redis;
  let engine: EngineWithoutIndex;
  let records: ExecutionRecords;
  let recorder: RedisRecorder;
  let api: ExecutionApi;
  let keyPrefix: string;

  beforeAll(async () => (server = await startRedisServer()));
  afterAll(() => server?.stop());
  beforeEach(async () => {
    redis = new Redis(server.url, log);
    redis.start();
    await redis.firstAttempt;
    engine = engineWithoutIndex();
    keyPrefix = `test:${randomUUID()}:`;
    useLimit(undefined);
    const presence = new IndexPresence(engine.call);
    await presence.exists();
    recorder = new RedisRecorder(records, presence);
  });
  afterEach(() => redis.stop());

  function useLimit(maxRecords: number | undefined, onDropped?: ReportDropped): void {
    const options = { keyPrefix, correlationTtlMs: dayMs };
    const limit = { ...(maxRecords === undefined ? {} : { maxRecords }), ...(onDropped && { onDropped }) };
    records = new ExecutionRecords(redis, { ...options, ...limit });
    api = createExecutionApi({ call: engine.call, records });
  }

  const request = (httpMethod: string, correlationId: string): StartWorkflowRequest => ({
    ...{ name: 'college-adaptorWF', version: 2, correlationId },
    input: { inbound: { httpMethod, route: 'adaptor', clientId: 'demo', requestId: correlationId } },
  });
  /** Starts an execution as the router does. */
  async function start(started: StartWorkflowRequest, { isLookedUp = true } = {}): Promise<string> {
    const executionId = await startUnsettled(started, { isLookedUp });
    await settle();
    return executionId;
  }
  /** Like `start`, but does not wait until Redis has recorded the start. */
  async function startUnsettled(started: StartWorkflowRequest, { isLookedUp = true } = {}): Promise<string> {
    const record = await recorder.starting(started, { isLookedUp });
    const executionId = engine.start(started);
    record.started(executionId);
    return executionId;
  }
  /** Waits until earlier commands have taken effect: Redis executes commands in order. */
  const settle = async () => {
    for (let round = 0; round < 3; round++) await redis.run((client) => client.ping());
  };
  const idsOf = async (query: Parameters<ExecutionApi['search']>[0], page: object = {}) => {
    const { executions } = await api.search(query, { offset: 0, size: 50, ...page });
    return executions.map(({ workflowId }) => workflowId);
  };

  it('finds a write by its correlation id and among the running executions', async () => {
    const id = await start(request('PATCH', 'r-1'));
    expect(await idsOf({ correlationIds: ['r-1'] })).toEqual([id]);
    expect(await api.correlated('college-adaptorWF', 'r-1')).toMatchObject([{ workflowId: id }]);
    expect(await api.correlated('otherWF', 'r-1')).toEqual([]);
    expect(await idsOf({ statuses: open })).toEqual([id]);
  });

  it('returns method, route and client in the row of a request, and nothing of its payload', async () => {
    await start(request('PATCH', 'r-1'));
    const { executions } = await api.search({}, { offset: 0, size: 1 });
    expect(executions).toMatchObject([
      {
        ...{ workflowType: 'college-adaptorWF', version: 2, correlationId: 'r-1', status: 'RUNNING' },
        input: '{"inbound":{"httpMethod":"PATCH","route":"adaptor","clientId":"demo"}}',
      },
    ]);
  });

  it('finds a running execution by the record made before its start, if the response was lost', async () => {
    await recorder.starting(request('PATCH', 'lost'), { isLookedUp: true });
    expect(await api.correlated('college-adaptorWF', 'lost')).toEqual([]);
    const id = engine.start(request('PATCH', 'lost'));
    expect(await api.correlated('college-adaptorWF', 'lost')).toMatchObject([{ workflowId: id }]);
  });

  it('reads no execution that started before the given time', async () => {
    const [old, recent] = [await start(request('PATCH', 'r-1')), await start(request('PATCH', 'r-1'))];
    const startedAfter = Date.now() - 60_000;
    await records.put({
      record: { executionId: old, workflow: 'college-adaptorWF', correlationId: 'r-1', startedAt: startedAfter - 1 },
      ...{ reopens: false, isLookedUp: true },
    });
    const reads: string[] = [];
    const call: SendRequest = (sent) => (reads.push(sent.path), engine.call(sent));
    const found = await createExecutionApi({ call, records }).correlated('college-adaptorWF', 'r-1', { startedAfter });
    expect(found).toMatchObject([{ workflowId: recent }]);
    expect(reads.filter((path) => path.includes(old))).toEqual([]);
  });

  it('reads the executions of a correlation id only until the deadline, however many there are', async () => {
    for (let count = 0; count < 50; count++) await start(request('PATCH', 'r-1'));
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const limits: (number | undefined)[] = [];
    const call: SendRequest = (sent) => {
      limits.push(sent.timeoutMs);
      vi.advanceTimersByTime(20);
      return engine.call(sent);
    };
    const index = new RecordedIndex(call, records);
    const reading = index.correlated('college-adaptorWF', 'r-1', { timeoutMs: 100 });
    await expect(reading).rejects.toMatchObject({ name: 'EngineError', kind: 'interrupted' });
    expect(limits).toEqual([100, 80, 60, 40, 20]);
  });

  it('finds an ended execution whose start got no response, if a worker has polled its task', async () => {
    await recorder.starting(request('PATCH', 'lost'), { isLookedUp: true });
    const id = engine.start(request('PATCH', 'lost'));
    await recorder.polled([engine.taskOf(id)]);
    engine.end(id, 'COMPLETED');
    expect(await api.correlated('college-adaptorWF', 'lost')).toMatchObject([{ workflowId: id }]);
  });

  it('replaces the record of a start with the record of its execution', async () => {
    const start = await recorder.starting(request('PATCH', 'r-1'), { isLookedUp: true });
    start.started(engine.start(request('PATCH', 'r-1')));
    await settle();
    expect(await records.correlated(['r-1'])).toMatchObject({ executionIds: [expect.any(String)], hasStart: false });
    expect(await records.starts(Date.now() + 1)).toEqual([]);
  });

  it('removes the record of a start that had no effect', async () => {
    (await recorder.starting(request('PATCH', 'r-1'), { isLookedUp: true })).notStarted();
    await settle();
    expect(await records.correlated(['r-1'])).toEqual({ executionIds: [], hasStart: false });
    expect(await records.starts(Date.now() + 1)).toEqual([]);
  });

  it('finds executions that an event has started, if they are running or a worker has polled their task', async () => {
    const input = { executionId: 'patch-1', inbound: { httpMethod: 'PATCH' }, mis: '001' };
    const event = { name: 'mdmWF', version: 1, correlationId: 'patch-1', input };
    const ended = engine.start(event);
    await recorder.polled([engine.taskOf(ended)]);
    engine.end(ended, 'COMPLETED', { interestedSystems: [] });
    const running = engine.start(event);
    expect(await idsOf({ statuses: open })).toEqual([running]);
    expect((await idsOf({ correlationIds: ['patch-1'] })).toSorted()).toEqual([ended, running].toSorted());
    const { executions } = await api.search(
      { workflowType: 'mdmWF', endedAfter: 0 },
      { offset: 0, size: 5, order: 'first-ended' },
    );
    expect(executions).toMatchObject([{ workflowId: ended, output: '{"interestedSystems":[]}' }]);
  });

  it('returns the start time by which it sorts, even for an execution known only from a later task', async () => {
    const id = engine.start({ name: 'mdmWF', version: 1, correlationId: 'patch-1', input: { executionId: 'patch-1' } });
    const scheduledTime = Date.now() + 60_000;
    await recorder.polled([{ ...engine.taskOf(id), scheduledTime }]);
    const { executions } = await api.search({ statuses: open }, { offset: 0, size: 50 });
    expect(executions).toMatchObject([{ workflowId: id, startTime: new Date(scheduledTime).toISOString() }]);
  });

  it('distinguishes paused executions from running ones by their state in the engine', async () => {
    const running = await start(request('PATCH', 'a'));
    const paused = await start(request('PATCH', 'b'));
    engine.pause(paused);
    expect(await idsOf({ statuses: ['PAUSED'] })).toEqual([paused]);
    expect(await idsOf({ statuses: ['RUNNING'] })).toEqual([running]);
    expect(await api.count({ statuses: ['PAUSED'] })).toBe(1);
    expect(await idsOf({ statuses: ['PAUSED', 'COMPLETED'] })).toContain(paused);
    const { executions } = await api.search({ statuses: open }, { offset: 0, size: 50 });
    // Both may have started in the same millisecond, so their order is not defined.
    expect(executions.map(({ status }) => status).toSorted()).toEqual(['PAUSED', 'RUNNING']);
  });

  it('lists ended executions by the time at which their end was recorded', async () => {
    const [first, second] = [await start(request('GET', 'a')), await start(request('GET', 'b'))];
    engine.end(second, 'FAILED');
    recorder.ended(second, 'FAILED');
    await settle();
    const recordedBy = Date.now();
    await pollUntil('a later millisecond', () => Date.now() > recordedBy, { everyMs: 1 });
    // No client waited for this execution; a search for open executions detects its end.
    engine.end(first, 'COMPLETED');
    expect(await idsOf({ statuses: open })).toEqual([]);
    const order = 'first-ended';
    expect(await idsOf({ endedAfter: 0, endedBefore: Date.now() + 1 }, { order })).toEqual([second, first]);
    expect(await idsOf({ statuses: ['COMPLETED'] }, { order })).toEqual([first]);
    expect(await api.count({ statuses: ['COMPLETED', 'FAILED'], endedBefore: Date.now() + 1 })).toBe(2);
    expect(await api.count({ workflowType: 'college*', statuses: ['FAILED'] })).toBe(1);
    expect(await api.workflows({ statuses: ['FAILED'] })).toEqual(['college-adaptorWF']);
    expect(await api.workflows({ endedBefore: 1 })).toEqual([]);
  });

  describe('an execution that failed and was retried', () => {
    const order = 'first-ended';
    let id: string;

    beforeEach(async () => {
      id = await start(request('PATCH', 'a'));
      engine.end(id, 'FAILED');
      recorder.ended(id, 'FAILED');
      await settle();
      expect(await idsOf({ statuses: ['FAILED'] }, { order })).toEqual([id]);
      engine.retry(id);
    });

    it('is open once a worker has polled its task, and completed once it has ended', async () => {
      await recorder.polled([engine.taskOf(id)]);
      expect(await idsOf({ statuses: ['FAILED'] }, { order })).toEqual([]);
      expect(await idsOf({ statuses: open })).toEqual([id]);
      engine.end(id, 'COMPLETED');
      expect(await idsOf({ statuses: open })).toEqual([]);
      expect(await idsOf({ statuses: ['COMPLETED'] }, { order })).toEqual([id]);
    });

    it('is found among the running executions before a worker polls its task', async () => {
      expect(await idsOf({ statuses: open })).toEqual([id]);
      expect(await idsOf({ statuses: ['FAILED'] }, { order })).toEqual([]);
    });

    it('is completed once its end is recorded', async () => {
      engine.end(id, 'COMPLETED');
      recorder.ended(id, 'COMPLETED');
      await settle();
      expect(await idsOf({ statuses: ['FAILED'] }, { order })).toEqual([]);
      expect(await idsOf({ statuses: ['COMPLETED'] }, { order })).toEqual([id]);
    });

    it('is completed once the prune job has read it, and is deleted by the rule for completed executions', async () => {
      engine.end(id, 'COMPLETED');
      const context = { api, now: Date.now() + 60_000, batchSize: 10 };
      const failed = { name: 'failed', statuses: ['FAILED'], olderThanMs: 1 } as const;
      expect(await pruneExecutions(failed, context)).toMatchObject({ removed: 0, kept: 0 });
      const completed = { name: 'completed', statuses: ['COMPLETED'], olderThanMs: 1 } as const;
      expect(await pruneExecutions(completed, context)).toMatchObject({ removed: 1, kept: 0 });
    });
  });

  it('lets the prune job delete an execution whose end no router has seen', async () => {
    await start(request('PATCH', 'a'));
    engine.end(await start(request('PATCH', 'b')), 'COMPLETED');
    const completed = { name: 'completed', statuses: ['COMPLETED'], olderThanMs: 1 } as const;
    const limits = { now: Date.now() + 60_000, batchSize: 10, eventsOlderThanMs: 1 };
    const report = await prune({ api, database: null, rules: [completed], ...limits });
    expect(report).toMatchObject({ executions: 1, kept: 0, orphans: 0 });
  });

  it('lets the prune job delete executions while Redis is full, even those whose end only the job has seen', async () => {
    const completed = { name: 'completed', statuses: ['COMPLETED'], olderThanMs: 1 } as const;
    const limits = { now: Date.now() + 60_000, batchSize: 10, eventsOlderThanMs: 1 };
    const { config } = await loadConfig({ env: {} });
    const [seen, unseen, retried] = [
      await start(request('PATCH', 'a')),
      await start(request('PATCH', 'b')),
      await start(request('PATCH', 'c')),
    ];
    for (const id of [seen, unseen, retried]) engine.end(id, 'COMPLETED');
    recorder.ended(seen, 'COMPLETED');
    recorder.ended(retried, 'FAILED');
    await settle();
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    onTestFinished(async () => void (await server.command('CONFIG', 'SET', 'maxmemory', '0')));
    const stores = { 'redis.url': server.url, 'records.keyPrefix': keyPrefix };
    const full = await openExecutions(engine.call, { ...config, ...stores }, { log, worksWhenFull: true });
    onTestFinished(() => full.close());
    const rules = [{ ...completed, name: 'failed', statuses: ['FAILED'] as const }, completed];
    const report = await prune({ api: full.api, database: null, rules, ...limits });
    expect(report).toEqual({ executions: 3, kept: 0, orphans: 0, events: null, isComplete: true });
    expect(await server.command('KEYS', `${keyPrefix}*`)).toEqual([]);
  });

  it.each([
    ['a program that works when Redis is full', { worksWhenFull: true }],
    ['other programs', {}],
  ])('rejects a search for open executions by %s when Redis does not accept their records', async (_, options) => {
    const { config } = await loadConfig({ env: {} });
    await start(request('PATCH', 'recorded'));
    // An event has started this execution, so no router has recorded it.
    engine.start({ name: 'mdmWF', version: 1, correlationId: 'patch-1', input: { executionId: 'patch-1' } });
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    onTestFinished(async () => void (await server.command('CONFIG', 'SET', 'maxmemory', '0')));
    const stores = { 'redis.url': server.url, 'records.keyPrefix': keyPrefix };
    const full = await openExecutions(engine.call, { ...config, ...stores }, { log, ...options });
    onTestFinished(() => full.close());
    const search = full.api.search({ statuses: open }, { offset: 0, size: 50 });
    await expect(search).rejects.toThrow(NoExecutionIndex);
  });

  it('records ends that no router has seen, in batches, until it is told to stop', async () => {
    for (let count = 0; count < 510; count++)
      engine.end(await start(request('GET', 'x'), { isLookedUp: false }), 'COMPLETED');
    const recorded = async () => (await idsOf({ statuses: ['COMPLETED'] }, { order: 'first-ended', size: 600 })).length;
    await api.recordEnds(async () => false);
    expect(await recorded()).toBe(500);
    await api.recordEnds(async () => true);
    expect(await recorded()).toBe(510);
  });

  it('keeps the first recorded time when an end is recorded again', async () => {
    const id = await start(request('PATCH', 'a'));
    const ends = async () => {
      recorder.ended(id, 'COMPLETED');
      await settle();
      return (await records.range('ended', { count: 1 })).records[0]?.endedAt;
    };
    const first = await ends();
    await pollUntil('a later millisecond', () => Date.now() > Number(first), { everyMs: 1 });
    expect(await ends()).toBe(first);
  });

  it('pages through more records than one command reads', async () => {
    const ids = [];
    for (let count = 1; count <= 620; count++) {
      ids.push(await startUnsettled(request('GET', 'x'), { isLookedUp: false }));
      // On a busy machine, Redis could not execute all commands at once before the deadline of the last one.
      if (count % 20 === 0) await settle();
    }
    const found = [...(await idsOf({}, { size: 600 })), ...(await idsOf({}, { offset: 600, size: 600 }))];
    expect(new Set(found)).toEqual(new Set(ids));
    expect(found).toHaveLength(620);
    expect(await idsOf({}, { order: 'newest', size: 1 })).toHaveLength(1);
  });

  it('skips ids whose records have been removed', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 510; count++) ids.push(await start(request('GET', 'x'), { isLookedUp: false }));
    await redis.run((client) => client.hDel(`${keyPrefix}executions`, ids.slice(0, 3)));
    expect(await api.count({ statuses: open })).toBe(507);
  });

  it('returns whether recording an end has changed the record', async () => {
    const id = await start(request('PATCH', 'a'));
    engine.end(id, 'COMPLETED');
    expect(await api.recordEnd(id, 'COMPLETED')).toBe(true);
    expect(await api.recordEnd(id, 'COMPLETED')).toBe(false);
    expect(await api.recordEnd('unknown', 'COMPLETED')).toBe(false);
    // An execution that ends differently after a retry stays among the ended ones.
    expect(await api.recordEnd(id, 'FAILED')).toBe(true);
  });

  it('removes the records of executions that are removed, or that the engine has lost', async () => {
    const [removed, lost] = [await start(request('PATCH', 'a')), await start(request('PATCH', 'b'))];
    expect((await api.remove([removed])).removed).toEqual([removed]);
    engine.lose(lost);
    expect(await idsOf({ statuses: open })).toEqual([]);
    expect(await idsOf({ correlationIds: ['a', 'b'] })).toEqual([]);
    expect(await server.command('KEYS', `${keyPrefix}*`)).toEqual([]);
  });

  it('has no limit by default', async () => {
    expect((await loadConfig({ env: {} })).config).not.toHaveProperty('records.max');
  });

  it('drops the record of an ended execution when the limit is exceeded, and reports it', async () => {
    let dropped = 0;
    useLimit(2, (_reason, count) => (dropped += count));
    recorder = new RedisRecorder(records, new IndexPresence(engine.call));
    const [first, second] = [await start(request('PATCH', 'a')), await start(request('PATCH', 'b'))];
    recorder.ended(second, 'COMPLETED');
    const third = await start(request('PATCH', 'c'));
    expect(dropped).toBe(1);
    expect(await records.notOpen([first, second, third])).toEqual([second]);
    expect(await server.command('EXISTS', `${keyPrefix}correlation:b`)).toBe(0);
  });

  it('drops at most ten records at each start after the limit was lowered, and reports all of them', async () => {
    for (let count = 0; count < 22; count++) await start(request('GET', 'x'), { isLookedUp: false });
    const dropped: number[] = [];
    useLimit(5, (_reason, count) => void dropped.push(count));
    recorder = new RedisRecorder(records, new IndexPresence(engine.call));
    for (let count = 0; count < 4; count++) await start(request('GET', 'x'), { isLookedUp: false });
    expect(dropped).toEqual([10, 9, 1, 1]);
    expect(await idsOf({})).toHaveLength(5);
  });

  it('removes ended ids without a record when the limit is exceeded, and does not count them as dropped', async () => {
    let dropped = 0;
    useLimit(1, (_reason, count) => (dropped += count));
    recorder = new RedisRecorder(records, new IndexPresence(engine.call));
    await server.command('ZADD', `${keyPrefix}ended`, '1', 'lost-1', '2', 'lost-2');
    await start(request('PATCH', 'a'));
    const second = await start(request('PATCH', 'b'));
    expect(dropped).toBe(1);
    expect(await server.command('ZCARD', `${keyPrefix}ended`)).toBe(0);
    expect(await server.command('HKEYS', `${keyPrefix}executions`)).toEqual([second]);
  });

  it('drops the other record even if the execution of the new record started first', async () => {
    useLimit(1);
    const newRecord = (executionId: string, startedAt: number) => ({
      record: { executionId, workflow: 'college-adaptorWF', startedAt },
      ...{ reopens: false, isLookedUp: false },
    });
    await records.put(newRecord('later', 2_000));
    await records.put(newRecord('earlier', 1_000));
    expect(await server.command('HKEYS', `${keyPrefix}executions`)).toEqual(['earlier']);
  });

  it('keeps a new record, without an outage, when the limit is exceeded by records that are in no set', async () => {
    let dropped = 0;
    useLimit(1, (_reason, count) => (dropped += count));
    recorder = new RedisRecorder(records, new IndexPresence(engine.call));
    await server.command('HSET', `${keyPrefix}executions`, 'lost-1', '{}', 'lost-2', '{}');
    const id = await start(request('PATCH', 'a'));
    expect([redis.isResponding, dropped]).toEqual([true, 0]);
    expect(await records.notOpen([id])).toEqual([]);
  });

  it('reports the records that it cannot keep during an outage', async () => {
    const dropped: unknown[] = [];
    useLimit(undefined, (...report) => void dropped.push(report));
    await server.kill();
    onTestFinished(() => server.restart());
    await pollUntil('the outage to be noticed', () => !redis.isResponding);
    const newRecord = (executionId: string) => ({
      record: { executionId, workflow: 'college-adaptorWF', startedAt: Date.now() },
      ...{ reopens: false, isLookedUp: false },
    });
    // The end of an execution and the removal of a start are dropped before a record.
    await records.putEnd('first', 'COMPLETED');
    await records.removeStart({ workflow: 'college-adaptorWF', correlationId: 'a', token: 'start:a' });
    for (let count = 0; count < 10_001; count++) await records.put(newRecord(String(count)));
    expect(dropped).toEqual([['redis', 1]]);
  });

  it.each([
    ['has not said yet', (): SendRequest => engine.call],
    ['does not say', (): SendRequest => async () => Promise.reject(new Error('no response'))],
  ])(
    'records polled tasks and the ends of executions while the engine %s whether it has an index',
    async (_state, callOf) => {
      recorder = new RedisRecorder(records, new IndexPresence(callOf()));
      const id = engine.start({
        name: 'mdmWF',
        version: 1,
        correlationId: 'patch-1',
        input: { executionId: 'patch-1' },
      });
      await recorder.polled([engine.taskOf(id)]);
      expect(await records.notOpen([id])).toEqual([]);
      recorder = new RedisRecorder(records, new IndexPresence(callOf()));
      recorder.ended(id, 'COMPLETED');
      await settle();
      expect(await records.notOpen([id])).toEqual([id]);
    },
  );

  it('records nothing when the engine turns out to have an index', async () => {
    const withIndex: SendRequest = async () => ({ status: 400, headers: {}, body: Buffer.from('{}') });
    recorder = new RedisRecorder(records, new IndexPresence(withIndex));
    const id = engine.start(request('PATCH', 'a'));
    await recorder.polled([engine.taskOf(id)]);
    recorder.ended(id, 'COMPLETED');
    await settle();
    expect(await server.command('KEYS', `${keyPrefix}*`)).toEqual([]);
  });

  it('keeps nothing under a correlation id for longer than executions are kept', async () => {
    await start(request('PATCH', 'a'));
    const left = Number(await server.command('PTTL', `${keyPrefix}correlation:a`));
    expect(left).toBeGreaterThan(dayMs - 60_000);
    expect(left).toBeLessThanOrEqual(dayMs);
  });

  it('keeps correlation ids a day longer than the longest prune rule, whether default or per route', async () => {
    const { config } = await loadConfig({ env: {} });
    for (const [rule, days] of [
      [{}, 31],
      [{ 'prune.movies.days': 90 }, 91],
    ] as const) {
      keyPrefix = `test:${randomUUID()}:`;
      records = createRecords(redis, { ...config, ...rule, 'records.keyPrefix': keyPrefix });
      await records.addStart({ workflow: 'w', correlationId: 'a' });
      const left = Number(await server.command('PTTL', `${keyPrefix}correlation:a`));
      expect(left / dayMs).toBeCloseTo(days, 1);
    }
  });

  it('follows changes to the rules of the prune job in the active configuration', async () => {
    const { config } = await loadConfig({ env: {} });
    const active: Config = { ...config, 'records.keyPrefix': keyPrefix };
    records = createRecords(redis, active);
    for (const days of [90, 60]) {
      (active as Record<string, unknown>)['prune.movies.days'] = days;
      await pollUntil(`${days} days`, async () => {
        const correlationId = randomUUID();
        await records.addStart({ workflow: 'w', correlationId });
        const left = Number(await server.command('PTTL', `${keyPrefix}correlation:${correlationId}`));
        return Math.round(left / dayMs) === days + 1;
      });
    }
  });

  it('records a read only after its start, and not under its correlation id', async () => {
    const id = await start(request('GET', 'a'), { isLookedUp: false });
    expect(await server.command('KEYS', `${keyPrefix}correlation:*`)).toEqual([]);
    expect(await idsOf({})).toEqual([id]);
  });

  it('does not change a record that another router has made', async () => {
    const id = await start(request('GET', 'a'), { isLookedUp: false });
    await recorder.polled([{ ...engine.taskOf(id), inputData: {} } as Task]);
    const { executions } = await api.search({}, { offset: 0, size: 1 });
    expect(executions).toMatchObject([{ version: 2, input: expect.stringContaining('adaptor') }]);
  });

  it('refuses searches and the starts of writes while Redis does not respond, and records ends later', async () => {
    // With everysec, a killed Redis may lose two seconds of writes: it appends nothing to its file during a slow fsync.
    await server.command('CONFIG', 'SET', 'appendfsync', 'always');
    const id = await start(request('PATCH', 'a'));
    await server.kill();
    await expect(recorder.starting(request('PATCH', 'b'), { isLookedUp: true })).rejects.toThrow(NoExecutionIndex);
    await expect(idsOf({})).rejects.toThrow('Redis, which has the records of executions, does not respond');
    engine.end(id, 'COMPLETED');
    recorder.ended(id, 'COMPLETED');
    await server.restart();
    await pollUntil('the recorded end', async () => {
      const ended = await idsOf({ statuses: ['COMPLETED'] }, { order: 'first-ended' }).catch((): string[] => []);
      return ended.includes(id);
    });
  });
});

describe('without Redis', () => {
  const page = { offset: 0, size: 1 };
  const searches: [string, (api: ExecutionApi) => Promise<unknown>, unknown][] = [
    ['search', (api) => api.search({}, page), { executions: [], total: 0, bytes: expect.any(Number) }],
    ['count', (api) => api.count({}), 0],
    ['correlated', (api) => api.correlated('w', 'c'), []],
    ['recordEnds', (api) => api.recordEnds(async () => true), undefined],
  ];
  const withIndex: SendRequest = async (call) =>
    call.path.includes('query=indexed')
      ? { status: 400, headers: {}, body: Buffer.from('{}') }
      : engineWithoutIndex().call(call);

  it.each(searches)('%s: fails on an engine without an index, and says what is missing', async (_name, search) => {
    const api = createExecutionApi({ call: engineWithoutIndex().call, records: undefined });
    await expect(search(api)).rejects.toThrow('the engine has no index of executions');
  });

  it.each(searches)('%s: has an empty result on an engine whose index finds nothing', async (_name, search, empty) => {
    expect(await search(createExecutionApi({ call: withIndex, records: undefined }))).toEqual(empty);
  });
});
