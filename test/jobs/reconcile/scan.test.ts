// Tests of scans: which part of the index each round reads, and how many calls to the engine the scans make.

import { describe, expect, it } from 'vitest';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { ExecutionSummary } from '#lib/conductor/executions/execution.ts';
import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { ExecutionQuery, Page } from '#lib/conductor/executions/execution-index.ts';
import type { SendRequest } from '#lib/conductor/send-call.ts';
import type { ExecutionRecords, RecordRange } from '#lib/records/execution-records.ts';
import { RecordedIndex } from '#lib/records/recorded-index.ts';
import { EndedScan, OpenScan } from '../../../jobs/reconcile/scan.ts';

const minute = 60_000;

it('a scan of ended executions advances even when no execution of its workflow has ended', async () => {
  const queries: ExecutionQuery[] = [];
  const search = async (query: ExecutionQuery) => {
    queries.push(query);
    return { executions: [], total: 0, bytes: 0 };
  };
  const options = { workflowType: 'mdmWF', from: 10 * minute, lagMs: minute, overlapMs: 2 * minute };
  const scan = new EndedScan({ search } as unknown as ExecutionApi, options);
  for (const now of [100 * minute, 101 * minute]) {
    expect(await scan.next(now, 5)).toEqual({ rows: [], isComplete: true });
  }
  expect(queries.map(({ endedAfter, endedBefore }) => [endedAfter, endedBefore])).toEqual([
    [10 * minute, 99 * minute],
    [97 * minute - 1, 100 * minute],
  ]);
});

describe('a read that fails', () => {
  const endedAt = (at: number) => 10 * minute + at * 1_000;
  const all = Array.from({ length: 120 }, (_, at) => ({
    workflowId: `e-${at}`,
    endTime: new Date(endedAt(at)).toISOString(),
  })) as ExecutionSummary[];
  /** Returns a scan of `all` in which the calls with these numbers fail. */
  const scanWithFailures = (...failing: number[]) => {
    let calls = 0;
    const search = async ({ endedAfter = 0 }: ExecutionQuery, { offset, size }: Page) => {
      if (failing.includes(++calls)) throw new EngineError('interrupted', `call ${calls}`);
      const found = all.filter(({ endTime = '' }) => Date.parse(endTime) > endedAfter);
      return { executions: found.slice(offset, offset + size), total: found.length, bytes: 1_000 };
    };
    const options = { workflowType: 'mdmWF', from: 10 * minute - 1, lagMs: minute, overlapMs: minute };
    return new EndedScan({ search } as unknown as ExecutionApi, options);
  };
  const now = 60 * minute;

  it('does not discard the rows of earlier pages, and the next round continues after them', async () => {
    const scan = scanWithFailures(2);
    const first = await scan.next(now, 5);
    expect(first).toEqual({ rows: all.slice(0, 50), isComplete: false });
    const second = await scan.next(now, 5);
    expect(second.isComplete).toBe(true);
    expect(new Set([...first.rows, ...second.rows])).toEqual(new Set(all));
  });

  it('is reported when no page was read before it, and the next round leaves nothing out', async () => {
    const scan = scanWithFailures(1);
    await expect(scan.next(now, 5)).rejects.toThrow('call 1');
    expect(new Set((await scan.next(now, 5)).rows)).toEqual(new Set(all));
  });
});

describe('open executions on an engine without an index', () => {
  /** Returns a scan of executions that started at regular intervals, and counts of its calls. */
  const scanOf = (count: number, everyMs: number) => {
    const calls = { states: 0, lists: 0 };
    const call: SendRequest = async ({ path }) => {
      if (path.includes('/status')) calls.states++;
      if (path.startsWith('/api/metadata/workflow')) calls.lists++;
      const body = path.includes('/status') ? { status: 'RUNNING' } : [];
      return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(body)) };
    };
    const all = Array.from({ length: count }, (_, at) => {
      const record = { workflow: 'college-adaptorWF', version: 2, method: 'PATCH', startedAt: minute + at * everyMs };
      return { executionId: `e-${at}`, ...record };
    });
    const range = async (_set: string, { after = 0, count: size }: RecordRange) => {
      const records = all.filter(({ startedAt }) => startedAt > after).slice(0, size);
      return { records, entries: records.map(({ executionId, startedAt: time }) => ({ executionId, time })) };
    };
    const records = { range, notOpen: async () => [], starts: async () => [] } as unknown as ExecutionRecords;
    const index = new RecordedIndex(call, records);
    return { scan: new OpenScan(new ExecutionApi(call, async () => index)), calls };
  };
  const rotate = async (scan: OpenScan) => {
    const ids: string[] = [];
    for (;;) {
      const { rows, isComplete } = await scan.next(Number.MAX_SAFE_INTEGER, 5);
      ids.push(...rows.map(({ workflowId }) => workflowId));
      if (isComplete) return ids;
    }
  };

  it('need a number of calls that is proportional to their number', async () => {
    const { scan, calls } = scanOf(10_000, 100);
    await rotate(scan);
    expect(calls.states).toBeLessThan(30_000);
    expect(calls.lists, 'the running executions are listed once').toBe(1);
  });

  it.each([0, 3, 1_000])('that start every %i ms are each read once in a rotation', async (everyMs) => {
    const { scan } = scanOf(1_200, everyMs);
    const ids = Array.from({ length: 1_200 }, (_, at) => `e-${at}`);
    expect(await rotate(scan)).toEqual(ids);
    expect(await rotate(scan), 'the next rotation').toEqual(ids);
  });
});
