// Tests of the status document of an execution: the state that its client sees for each status of the engine.

import { expect, it } from 'vitest';
import { cancellationReason } from '#lib/conductor/executions/cancelled.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import { terminationReason } from '#lib/conductor/executions/reconciler-terminations.ts';
import { documentOf } from '../../../../plugins/conductor/async-executions/execution-document.ts';

const links = { self: '/executions/e-1', response: '/executions/e-1/response' };
const inbound = { route: 'movies', httpMethod: 'GET', requestId: 'r-1', clientId: 'demo', path: '/secret' };
const ended = '1970-01-01T00:00:02.000Z';

it.each([
  ['RUNNING', '', 'running', undefined],
  ['PAUSED', '', 'running', undefined],
  ['COMPLETED', '', 'completed', ended],
  ['FAILED', '', 'failed', ended],
  ['TIMED_OUT', '', 'timed-out', ended],
  ['TERMINATED', 'by hand', 'failed', ended],
  ['TERMINATED', cancellationReason({}), 'cancelled', ended],
  ['TERMINATED', cancellationReason({ lastRetriedTime: 5 }), 'failed', ended],
  ['TERMINATED', terminationReason('event_stuck'), 'completed', ended],
  ['TERMINATED', terminationReason('outcome_unknown'), 'timed-out', ended],
  ['TERMINATED', terminationReason('never_scheduled'), 'failed', ended],
  ['TERMINATED', "Task 6a55d23a failed with status: TERMINATED and reason: 'null'", 'timed-out', ended],
] as const)('%s %s → %s', (status, reasonForIncompletion, state, endedAt) => {
  const times = { startTime: 1_000, endTime: 2_000 };
  const execution = { workflowId: 'e-1', status, reasonForIncompletion, ...times, input: { inbound }, tasks: [] };
  expect(documentOf(execution as unknown as WholeExecution, () => links)).toEqual({
    ...{ id: 'e-1', state, route: 'movies', method: 'GET', requestId: 'r-1', links },
    startedAt: '1970-01-01T00:00:01.000Z',
    ...(endedAt && { endedAt }),
  });
});
