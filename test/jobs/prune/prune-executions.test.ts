// Tests of pruning while the engine's index lags: which executions are deleted, kept, or reported as orphans.

import { describe, expect, it } from 'vitest';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { WorkflowStatus } from '#lib/conductor/types.ts';
import { pruneExecutions } from '../../../jobs/prune/prune-executions.ts';
import { endedStatuses } from '#lib/conductor/executions/has-ended.ts';

interface Stored {
  readonly workflowId: string;
  readonly workflowType: string;
  /** Status in the index, which may differ from the status of the execution. */
  readonly indexed: WorkflowStatus;
  readonly status: WorkflowStatus | null;
  readonly input?: Record<string, unknown>;
}

/** A fake engine. Like the real engine, it removes a deleted execution from its index only after some searches. */
function laggingEngine(stored: readonly Stored[], lag: number) {
  const index = [...stored];
  const alive = new Map(stored.filter(({ status }) => status !== null).map((one) => [one.workflowId, one]));
  const leaving: { id: string; after: number }[] = [];
  const batches: number[] = [];
  const whole: string[] = [];
  let searches = 0;
  const api = {
    async search(_query: unknown, { offset, size }: { offset: number; size: number }) {
      searches += 1;
      for (const row of leaving.splice(0)) {
        if (row.after > 0) leaving.push({ ...row, after: row.after - 1 });
        else
          index.splice(
            index.findIndex(({ workflowId }) => workflowId === row.id),
            1,
          );
      }
      const executions = index
        .slice(offset, offset + size)
        .map(({ indexed, input = {}, ...row }) => ({ ...row, status: indexed, input: JSON.stringify(input) }));
      return { executions, total: index.length, bytes: 0 };
    },
    async remove(ids: readonly string[]) {
      batches.push(ids.length);
      for (const id of ids) {
        if (!alive.delete(id)) throw new Error(`${id} is not there`);
        leaving.push({ id, after: lag });
      }
      return { removed: ids, refused: {} };
    },
    // As in the router's records, a corrected row no longer matches the rule.
    async recordEnd(id: string, status: WorkflowStatus) {
      const at = index.findIndex(({ workflowId, indexed }) => workflowId === id && indexed !== status);
      if (at >= 0) index.splice(at, 1);
      return at >= 0;
    },
    readState: async (id: string) => alive.get(id)?.status ?? null,
    readWhole: async (id: string) => {
      whole.push(id);
      const execution = alive.get(id);
      return execution === undefined ? null : { status: execution.status, input: execution.input ?? {} };
    },
  };
  const removeRows = async (ids: readonly string[]) => {
    for (const id of ids)
      index.splice(
        index.findIndex(({ workflowId }) => workflowId === id),
        1,
      );
  };
  const rows = () => index.map(({ workflowId }) => workflowId);
  // The clock advances with each search.
  return { api: api as unknown as ExecutionApi, clock: () => searches * 100, alive, batches, whole, removeRows, rows };
}

const ended = (count: number, prefix = 'e'): Stored[] =>
  Array.from({ length: count }, (_, at) => ({
    workflowId: `${prefix}-${at}`,
    workflowType: 'moviesWF',
    indexed: 'COMPLETED',
    status: 'COMPLETED',
  }));
const timeAndApi = ({ api, clock }: ReturnType<typeof laggingEngine>) => ({ api, clock });
const rule = { name: 'ended', statuses: endedStatuses, olderThanMs: 1 };

describe('pruning executions', () => {
  it.each([0, 1, 3])(
    'an index that is %i searches behind: every execution is deleted once, and none is taken for an orphan',
    async (lag) => {
      const engine = laggingEngine(ended(95), lag);
      const report = await pruneExecutions(rule, { ...timeAndApi(engine), now: 0, batchSize: 10 });
      expect(report).toEqual({ removed: 95, orphans: [], kept: 0 });
      expect(engine.alive.size).toBe(0);
      expect(Math.max(...engine.batches)).toBeLessThanOrEqual(10);
    },
  );

  it('skips kept rows once each and deletes everything after them', async () => {
    const running: Stored = { workflowId: 'running', workflowType: 'moviesWF', indexed: 'FAILED', status: 'RUNNING' };
    const orphan: Stored = { workflowId: 'orphan', workflowType: 'moviesWF', indexed: 'FAILED', status: null };
    const other: Stored = { workflowId: 'other', workflowType: 'moviesWF2', indexed: 'COMPLETED', status: 'COMPLETED' };
    const engine = laggingEngine([...ended(5), running, orphan, other, ...ended(30, 'f')], 2);
    const report = await pruneExecutions(
      { ...rule, workflow: 'moviesWF' },
      { ...timeAndApi(engine), now: 0, batchSize: 4, orphanAfterMs: 300 },
    );
    expect(report).toEqual({ removed: 35, orphans: ['orphan'], kept: 2 });
    expect([...engine.alive.keys()]).toEqual(['running', 'other']);
  });

  it('keeps executions of routes with their own rule, and deletes those of other routes and of no route', async () => {
    const execution = (workflowId: string, input: Record<string, unknown>): Stored => {
      return { workflowId, workflowType: 'moviesWF', indexed: 'COMPLETED', status: 'COMPLETED', input };
    };
    const engine = laggingEngine(
      [
        ...Array.from({ length: 7 }, (_, at) => execution(`slow-${at}`, { inbound: { route: 'slow' } })),
        execution('probe', { inbound: { route: 'reconciler' } }),
        execution('by-hand', {}),
        execution('quotes-the-route', { inbound: { route: 'movies', query: '"route":"slow"' }, note: 'route=slow' }),
      ],
      1,
    );
    const excepting = { ...rule, workflow: 'moviesWF', exceptRoutes: ['slow'] };
    const report = await pruneExecutions(excepting, { ...timeAndApi(engine), now: 0, batchSize: 3 });
    expect(report).toEqual({ removed: 3, orphans: [], kept: 7 });
    expect([...engine.alive.keys()].every((id) => id.startsWith('slow-'))).toBe(true);
    expect(engine.whole).toEqual(['quotes-the-route']);
  });

  it('skips nothing when rows leave the search result because their end is corrected', async () => {
    const again = (at: number): Stored => {
      return { workflowId: `again-${at}`, workflowType: 'moviesWF', indexed: 'FAILED', status: 'COMPLETED' };
    };
    const failed = ended(8).map((one): Stored => ({ ...one, indexed: 'FAILED', status: 'FAILED' }));
    const engine = laggingEngine([...[0, 1, 2, 3, 4].map(again), ...failed], 0);
    const ofFailed = { ...rule, statuses: ['FAILED'] } as const;
    const report = await pruneExecutions(ofFailed, { ...timeAndApi(engine), now: 0, batchSize: 4 });
    expect(report).toEqual({ removed: 8, orphans: [], kept: 0 });
  });

  it('keeps an execution that ended again with another status in the rule, as its new end may be recent', async () => {
    const retried: Stored = { workflowId: 'retried', workflowType: 'moviesWF', indexed: 'FAILED', status: 'COMPLETED' };
    const engine = laggingEngine([retried, ...ended(3)], 0);
    const report = await pruneExecutions(rule, { ...timeAndApi(engine), now: 0, batchSize: 2 });
    expect(report).toEqual({ removed: 3, orphans: [], kept: 0 });
    expect([...engine.alive.keys()]).toEqual(['retried']);
  });

  it('ends even if rows never leave the index, and reports them as orphans', async () => {
    const engine = laggingEngine(ended(12), 1_000_000);
    const report = await pruneExecutions(rule, { ...timeAndApi(engine), now: 0, batchSize: 4, orphanAfterMs: 50 });
    expect(report).toMatchObject({ removed: 12, kept: 0 });
    expect(report.orphans.length).toBeGreaterThan(7);
  });

  it('deletes executions that are listed after more than 10,000 orphans, and reports every orphan', async () => {
    const orphans = ended(10_500, 'orphan').map((one): Stored => ({ ...one, status: null }));
    const engine = laggingEngine([...orphans, ...ended(3)], 0);
    const report = await pruneExecutions(rule, { ...timeAndApi(engine), now: 0, batchSize: 5_000, orphanAfterMs: 50 });
    expect({ ...report, orphans: report.orphans.length }).toEqual({ removed: 3, orphans: 10_500, kept: 0 });
    expect(engine.alive.size).toBe(0);
  });

  it('removes rows from the index itself, because the engine may fail to do so', async () => {
    const engine = laggingEngine(ended(12), 1_000_000);
    const { removeRows, rows } = engine;
    const report = await pruneExecutions(rule, { ...timeAndApi(engine), now: 0, batchSize: 4, removeRows });
    expect(report).toEqual({ removed: 12, orphans: [], kept: 0 });
    expect(rows()).toEqual([]);
  });

  it('can be stopped between two batches, and the next run continues', async () => {
    const engine = laggingEngine(ended(30), 1);
    const stop = new AbortController();
    const onBatch = () => stop.abort();
    const first = await pruneExecutions(rule, {
      ...timeAndApi(engine),
      now: 0,
      batchSize: 10,
      signal: stop.signal,
      onBatch,
    });
    expect(first.removed).toBe(10);
    expect(engine.alive.size).toBe(20);
    const second = await pruneExecutions(rule, { ...timeAndApi(engine), now: 0, batchSize: 10 });
    expect(second.removed).toBe(20);
    expect(engine.alive.size).toBe(0);
  });
});
