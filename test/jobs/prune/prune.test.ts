// Tests of one round of pruning.

import { expect, it } from 'vitest';
import type { EngineDatabase } from '#lib/conductor/database/database.ts';
import { endedStatuses } from '#lib/conductor/executions/has-ended.ts';
import { prune, type PruneOptions } from '../../../jobs/prune/prune.ts';

const row = (at: number) => ({
  workflowId: `e-${at}`,
  workflowType: 'moviesWF',
  status: 'COMPLETED' as const,
  input: '{}',
});
const rule = { name: 'ended', statuses: endedStatuses, olderThanMs: 1 };

it('forgets orphans and deletes their rows in batches', async () => {
  const rows = Array.from({ length: 25 }, (_, at) => row(at));
  const forgotten: number[] = [];
  const deleted: number[] = [];
  const api = {
    recordEnds: async () => undefined,
    search: async (_query: unknown, { offset, size }: { offset: number; size: number }) => {
      return { executions: rows.slice(offset, offset + size), total: rows.length, bytes: 0 };
    },
    readState: async () => null,
    forget: async (ids: readonly string[]) => void forgotten.push(ids.length),
  } as unknown as PruneOptions['api'];
  const database = {
    removeEvents: async () => 0,
    removeIndexRows: async (ids: readonly string[]) => deleted.push(ids.length),
  } as unknown as EngineDatabase;
  const options = { api, database, rules: [rule], now: 10, batchSize: 10, eventsOlderThanMs: 1, orphanAfterMs: 0 };
  expect(await prune(options)).toEqual({ executions: 0, kept: 0, orphans: 25, events: 0, isComplete: true });
  expect({ forgotten, deleted }).toEqual({ forgotten: [10, 10, 5], deleted: [10, 10, 5] });
});

it('deletes the rows of many orphans in portions, so that an error loses only part of the work', async () => {
  const rows = Array.from({ length: 25 }, (_, at) => row(at));
  const searched: number[] = [];
  const api = {
    recordEnds: async () => undefined,
    search: async (_query: unknown, { offset, size }: { offset: number; size: number }) => {
      searched.push(offset);
      return { executions: rows.slice(offset, offset + size), total: rows.length, bytes: 0 };
    },
    readState: async () => null,
    forget: async () => undefined,
  } as unknown as PruneOptions['api'];
  const database = {
    removeEvents: async () => 0,
    removeIndexRows: async (ids: readonly string[]) => {
      const before = rows.length;
      rows.push(...rows.splice(0).filter(({ workflowId }) => !ids.includes(workflowId)));
      return before - rows.length;
    },
  } as unknown as EngineDatabase;
  const options = { api, database, rules: [rule], now: 10, batchSize: 10, eventsOlderThanMs: 1, orphanAfterMs: 0 };
  expect(await prune({ ...options, maxOrphans: 10 })).toMatchObject({ orphans: 25, kept: 0, isComplete: true });
  expect(rows).toEqual([]);
  expect(Math.max(...searched)).toBe(0);
});

it('prunes nevertheless, and reports the error, when it cannot record executions that ended unnoticed by a router', async () => {
  const error = new Error('the engine does not respond');
  const deleted: string[] = [];
  const api = {
    recordEnds: () => Promise.reject(error),
    search: async () => ({ executions: deleted.length === 0 ? [row(1)] : [], total: 1, bytes: 0 }),
    readState: async () => 'COMPLETED',
    remove: async (ids: readonly string[]) => ({ removed: (deleted.push(...ids), ids), refused: {} }),
  } as unknown as PruneOptions['api'];
  const report = await prune({ api, database: null, rules: [rule], now: 10, batchSize: 10, eventsOlderThanMs: 1 });
  expect(report).toMatchObject({ executions: 1, isComplete: true, failure: error });
  expect(deleted).toEqual(['e-1']);
});

it('pauses between batches of recorded ends, and stops when it is aborted', async () => {
  const stopping = new AbortController();
  const { signal } = stopping;
  const pauses: number[] = [];
  const api = {
    async recordEnds(onBatch: () => Promise<boolean>) {
      const begun = performance.now();
      while (performance.now() - begun < 20);
      const took = performance.now();
      expect(await onBatch()).toBe(true);
      pauses.push(performance.now() - took);
      stopping.abort();
      expect(await onBatch()).toBe(false);
    },
  } as unknown as PruneOptions['api'];
  const options = { api, database: null, rules: [rule], now: 10, batchSize: 10, eventsOlderThanMs: 1, signal };
  expect(await prune(options)).toMatchObject({ executions: 0, isComplete: false });
  expect(pauses[0]).toBeGreaterThanOrEqual(18);
});
