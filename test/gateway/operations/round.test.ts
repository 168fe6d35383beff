// Tests of the round of a change (its execution and all follow-up executions): executions that event handlers start,
// missing executions, and executions whose event is unknown.

import { describe, expect, it } from 'vitest';
import type { ExecutionSummary, WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { ExecutionReader } from '#lib/conductor/executions/find-executions.ts';
import { definitionsFor } from '../../lib/conductor/definitions/copy-of-product.ts';
import { readRound, type RoundStep } from '../../../gateway/operations/executions/round.ts';
import { roundView } from '../../../gateway/operations/executions/round-view.ts';

const handlers = definitionsFor().eventHandlers.map(({ definition }) => definition);

function execution(workflowId: string, workflowName: string, fields: Partial<WholeExecution> = {}): WholeExecution {
  return {
    ...{ workflowId, workflowName, workflowVersion: 1, status: 'COMPLETED', startTime: 1, endTime: 2 },
    ...{ input: {}, output: {}, tasks: [] },
    ...fields,
  };
}
const producing = (events: string[], payload: Record<string, unknown> = {}) => ({
  tasks: events.map((event, index) => ({
    ...{ taskId: `${index}`, taskType: 'EVENT', referenceTaskName: `e${index}`, status: 'COMPLETED' },
    outputData: { ...payload, event_produced: event },
  })),
});

const patchWith = (statusCodeValue: number) =>
  execution(
    ...(['patch-0001', 'college-adaptorWF'] as const),
    producing(['conductor:college-adaptorWF:person_patched'], {
      inbound: { httpMethod: 'PATCH' },
      outbound: { statusCodeValue },
    }),
  );
const patch = patchWith(200);
const followed = { correlationId: 'patch-0001', input: { executionId: 'patch-0001' } };
const notification = execution('mdm-000001', 'mdmWF', {
  ...followed,
  ...producing(['conductor:mdmWF:mdm_share_002', 'conductor:mdmWF:mdm_share_003']),
});
const share = execution('share-0001', 'mdm-shareWF', {
  correlationId: 'patch-0001',
  input: { sourceExecutionId: 'patch-0001', misCode: '002' },
  taskToDomain: { mdm_share: '002' },
});

/**
 * Returns a reader that finds these executions by correlation id. A search without a correlation id finds all of them.
 */
function readerOf(...executions: WholeExecution[]): ExecutionReader {
  return {
    async search({ correlationIds }) {
      const rows = executions.filter(({ correlationId = '' }) => correlationIds?.includes(correlationId) ?? true);
      return { executions: rows as unknown as ExecutionSummary[], total: rows.length, bytes: 0 };
    },
    readWhole: async (id) => executions.find(({ workflowId }) => workflowId === id) ?? null,
    readState: async () => null,
  };
}

/** Returns a reader of an engine without an index. */
function readerWithoutIndex(...executions: WholeExecution[]): ExecutionReader {
  return { ...readerOf(...executions), search: async () => ({ executions: [], total: 0, bytes: 0 }) };
}

const outline = (steps: readonly RoundStep[]): unknown[] =>
  steps.map(({ workflow, college, execution: found, isExpected, next }) => [
    `${workflow} ${college ?? '-'} ${found?.status ?? (isExpected ? 'missing' : 'not expected')}`,
    ...outline(next),
  ]);

describe('readRound', () => {
  it.each([
    ['the PATCH', patch],
    ['the notification', notification],
    ['the share', share],
  ])('returns the same round when it starts from %s', async (_name, from) => {
    const { first } = await readRound(readerOf(patch, notification, share), from, handlers);
    expect(outline(first)).toEqual([
      ['college-adaptorWF - COMPLETED', ['mdmWF - COMPLETED', ['mdm-shareWF 002 COMPLETED']]],
    ]);
  });

  it('shows a missing share with the college of the share’s handler', async () => {
    const { first } = await readRound(readerOf(patch, notification), patch, handlers);
    expect(outline(first)).toEqual([
      ['college-adaptorWF - COMPLETED', ['mdmWF - COMPLETED', ['mdm-shareWF 002 missing']]],
    ]);
  });

  it('shows a missing notification', async () => {
    const { first } = await readRound(readerOf(patch), patch, handlers);
    expect(outline(first)).toEqual([['college-adaptorWF - COMPLETED', ['mdmWF - missing']]]);
  });

  it('expects no notification of a PATCH that got no 2xx response, but shows one that exists', async () => {
    const refused = patchWith(409);
    expect(outline((await readRound(readerOf(refused), refused, handlers)).first)).toEqual([
      ['college-adaptorWF - COMPLETED', ['mdmWF - not expected']],
    ]);
    expect(outline((await readRound(readerOf(refused, notification), refused, handlers)).first)).toEqual([
      ['college-adaptorWF - COMPLETED', ['mdmWF - COMPLETED', ['mdm-shareWF 002 missing']]],
    ]);
  });

  it('evaluates the condition of a handler only for missing executions, and once for all of them', async () => {
    let evaluations = 0;
    // Called when the payload is copied into the context of the condition.
    const toJSON = () => ({ evaluation: (evaluations += 1) });
    const event = 'conductor:college-adaptorWF:person_patched';
    const source = { ...patch, ...producing([event], { toJSON }) };
    const actions = ['mdmWF', 'moviesWF', 'lmsWF'].map((name) => ({
      ...{ action: 'start_workflow' as const, start_workflow: { name, taskToDomain: {} } },
    }));
    const startingAll = handlers.flatMap((handler) => (handler.event === event ? { ...handler, actions } : []));
    const others = ['moviesWF', 'lmsWF'].map((name) => execution(`${name}-0001`, name, followed));
    await readRound(readerOf(source, notification, ...others), source, startingAll as never);
    expect(evaluations).toBe(0);
    const { first } = await readRound(readerOf(source, notification), source, startingAll as never);
    expect(first[0]?.next.map(({ isExpected }) => isExpected)).toEqual([true, false, false]);
    expect(evaluations).toBe(1);
  });

  it('expects no follow-up executions on an engine without an index, where they cannot be found', async () => {
    const reader = readerWithoutIndex(patch, notification, share);
    expect(outline((await readRound(reader, patch, handlers)).first)).toEqual([['college-adaptorWF - COMPLETED']]);
    const { first, isCut } = await readRound(reader, notification, handlers);
    expect(outline(first)).toEqual([['college-adaptorWF - COMPLETED', ['mdmWF - COMPLETED']]]);
    expect(isCut).toBe(true);
    expect(outline((await readRound(reader, share, handlers)).first)).toEqual([
      ['college-adaptorWF - COMPLETED'],
      ['mdm-shareWF 002 COMPLETED'],
    ]);
  });

  it('contains the execution itself before it is in the index, and when its source no longer exists', async () => {
    const reader = { ...readerOf(patch, share), search: readerOf(patch).search };
    expect(outline((await readRound(reader, share, handlers)).first)).toEqual([
      ['college-adaptorWF - COMPLETED', ['mdmWF - missing']],
      ['mdm-shareWF 002 COMPLETED'],
    ]);
    const { first } = await readRound(readerWithoutIndex(share), share, handlers);
    expect(outline(first)).toEqual([['mdm-shareWF 002 COMPLETED']]);
  });

  it('shows only the execution itself when it has no events', async () => {
    const movie = execution('movie-0001', 'moviesWF');
    expect(outline((await readRound(readerOf(movie), movie, handlers)).first)).toEqual([['moviesWF - COMPLETED']]);
  });

  it('shows follow-up executions of a source that no longer exists, or whose handlers have changed', async () => {
    const { first } = await readRound(readerOf(notification, share), share, handlers);
    expect(outline(first)).toEqual([['mdmWF - COMPLETED', ['mdm-shareWF 002 COMPLETED']]]);
    const unknown = await readRound(readerOf(patch, notification, share), patch, []);
    expect(outline(unknown.first)).toEqual([
      ['college-adaptorWF - COMPLETED'],
      ['mdmWF - COMPLETED'],
      ['mdm-shareWF 002 COMPLETED'],
    ]);
  });

  it('does not look for a source execution that a client named in the input', async () => {
    const forged = execution('forged-001', 'moviesWF', { correlationId: 'r-1', input: { executionId: 'patch-0001' } });
    const { first } = await readRound(readerOf(forged, patch), forged, handlers);
    expect(outline(first)).toEqual([['moviesWF - COMPLETED']]);
  });
});

describe('roundView', () => {
  it.each([
    ['COMPLETED' as const, 'all 3 completed within'],
    ['RUNNING' as const, '1 running'],
    ['PAUSED' as const, '1 paused'],
    ['TIMED_OUT' as const, '1 unsuccessful'],
  ])('summarises a round whose share is %s as "%s"', async (status, summary) => {
    const round = await readRound(readerOf(patch, notification, { ...share, status }), patch, handlers);
    expect(roundView(round, patch.workflowId)?.text).toMatch(new RegExp(`<small>${summary}`));
  });
});
