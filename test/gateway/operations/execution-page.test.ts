// Tests of the page of one execution: how long it refreshes itself.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventHandler } from '#lib/conductor/definitions/schema.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { ExecutionReader } from '#lib/conductor/executions/find-executions.ts';
import { createExecutionRoutes } from '../../../gateway/operations/executions/execution-page.ts';
import { type OperationsServer, startOperationsServer } from '../../../gateway/operations/operations-server.ts';
import { call } from '../../stack/client.ts';

const ended: WholeExecution = {
  ...{ workflowId: 'share-0001', workflowName: 'mdm-shareWF', workflowVersion: 1, status: 'COMPLETED' },
  ...{ startTime: 1, endTime: 2, input: {}, output: {}, tasks: [] },
};
const event = 'conductor:college-adaptorWF:person_patched';
const handler: EventHandler = {
  ...{ name: 'mdm', event, active: true, condition: '$.statusCodeValue == 200' },
  actions: [
    {
      action: 'start_workflow',
      start_workflow: { name: 'mdmWF', version: 1, correlationId: '${executionId}', taskToDomain: {}, input: {} },
    },
  ],
};
let execution: WholeExecution;
let server: OperationsServer;

/** Reads from a fake engine whose index contains other executions only. */
const reader: ExecutionReader = {
  search: async ({ correlationIds }) => ({ executions: [], total: correlationIds === undefined ? 1 : 0, bytes: 0 }),
  readWhole: async (id) => (id === execution.workflowId ? execution : null),
  readState: async () => null,
};

beforeAll(async () => {
  const readers = { open: () => reader, close: async () => undefined };
  server = await startOperationsServer({
    ...{ host: '127.0.0.1', port: 0, hosts: [], keys: 'ops.port', log: console },
    readiness: { ask: async () => ({ ready: true, reasons: {}, notices: {} }) },
    pages: createExecutionRoutes({ readers, uiURL: undefined, handlers: () => [handler] }),
  });
});
afterAll(() => server.stop());

const isLast = async () => {
  const { headers } = await call(`${server.url}/executions/view?id=${execution.workflowId}`);
  return headers['refresh-ended'] === 'true';
};

describe('the page of an execution', () => {
  it('refreshes itself until two minutes after the end of the execution', async () => {
    execution = { ...ended, endTime: Date.now() };
    expect(await isLast()).toBe(false);
    execution = ended;
    expect(await isLast()).toBe(true);
  });

  it.each([
    ['an hour', 'an expected follow-up execution is missing', 200, 3_600_000],
    ['two minutes', 'the condition of the event handler is false', 409, 120_000],
  ])('refreshes itself until %s after the end of the execution when %s', async (_time, _case, statusCodeValue, ms) => {
    const outputData = { event_produced: event, statusCodeValue };
    const tasks = [{ taskId: '1', taskType: 'EVENT', referenceTaskName: 'e', status: 'COMPLETED', outputData }];
    execution = { ...ended, tasks, endTime: Date.now() - ms + 60_000 };
    expect(await isLast()).toBe(false);
    execution = { ...execution, endTime: Date.now() - ms };
    expect(await isLast()).toBe(true);
  });

  it('refreshes itself while the execution is running, even when its source no longer exists', async () => {
    execution = { ...ended, status: 'RUNNING', endTime: 0 };
    expect(await isLast()).toBe(false);
    execution = { ...execution, correlationId: 'patch-0001', input: { sourceExecutionId: 'patch-0001' } };
    expect(await isLast()).toBe(false);
  });
});
