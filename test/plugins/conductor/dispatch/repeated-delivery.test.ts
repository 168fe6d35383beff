// Tests of how the router distinguishes a second delivery of a task from the delivery of a returned task.

import { expect, it } from 'vitest';
import type { Task, TaskResult } from '#lib/conductor/types.ts';
import {
  isRepeatedDelivery,
  returnedByWorker,
  returnsWithoutTrace,
  runsOnce,
  unreceivedReason,
} from '../../../../plugins/conductor/dispatch/repeated-delivery.ts';

it.each([
  ['an engine that does not count polls', {}, false],
  ['the first poll', { pollCount: 1 }, false],
  ['the first poll after a retry, which keeps the reason', { pollCount: 1, reasonForIncompletion: 'failed' }, false],
  ['a second poll of a task that nobody returned', { pollCount: 2, outputData: {} }, true],
  ['a second poll without output or reason', { pollCount: 2, outputData: null, reasonForIncompletion: null }, true],
  ['a task returned by its worker', { pollCount: 2, reasonForIncompletion: returnedByWorker }, false],
  ['a task returned by its worker with an output', { pollCount: 5, outputData: { step: 1 } }, false],
  ['a task returned by a router', { pollCount: 3, reasonForIncompletion: unreceivedReason({ pollCount: 2 }) }, false],
  [
    'a task returned by a router, and then polled twice',
    { pollCount: 4, reasonForIncompletion: unreceivedReason({ pollCount: 2 }) },
    true,
  ],
])('%s → a repeated delivery: $2', (_case, fields, isRepeated) => {
  expect(isRepeatedDelivery(fields as unknown as Task)).toBe(isRepeated);
});

it.each([
  ['COMPLETED', {}, false],
  ['IN_PROGRESS', {}, true],
  ['IN_PROGRESS', { outputData: {}, reasonForIncompletion: null, callbackAfterSeconds: 30 }, true],
  ['IN_PROGRESS', { outputData: { step: 1 } }, false],
  ['IN_PROGRESS', { reasonForIncompletion: 'waits' }, false],
  ['IN_PROGRESS', { extendLease: true }, false],
  // Conductor's Java SDK copies the reason and the output from the task.
  ['IN_PROGRESS', { reasonForIncompletion: unreceivedReason({ pollCount: 1 }) }, true],
  ['IN_PROGRESS', { reasonForIncompletion: unreceivedReason({ pollCount: 1 }), outputData: { step: 1 } }, true],
  ['COMPLETED', { reasonForIncompletion: unreceivedReason({ pollCount: 1 }) }, false],
])('a result %s with %o returns the task without a trace: %s', (status, fields, hasNone) => {
  expect(returnsWithoutTrace({ ...fields, status } as unknown as TaskResult)).toBe(hasNone);
});

it.each([
  ['a write', { inputData: { inbound: { httpMethod: 'PATCH' } } }, true],
  ['a read', { inputData: { inbound: { httpMethod: 'GET' } } }, false],
  ['a task without a request', {}, true],
  ['a task that the engine may retry', { workflowTask: { taskDefinition: { retryCount: 3 } } }, false],
  ['a task that the engine may not retry', { workflowTask: { taskDefinition: { retryCount: 0 } } }, true],
  [
    'a task whose workflow allows a retry',
    { workflowTask: { retryCount: 1, taskDefinition: { retryCount: 0 } } },
    false,
  ],
])('must be carried out only once: %s, %o → %s', (_case, fields, expected) => {
  expect(runsOnce(fields as unknown as Task)).toBe(expected);
});
