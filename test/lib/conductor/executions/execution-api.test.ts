// Tests of the client of the execution API against fixed responses.

import { expect, it } from 'vitest';
import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';

const apiWith = (body: string) => new ExecutionApi(async () => ({ status: 200, headers: {}, body: Buffer.from(body) }));
const request = { name: 'moviesWF', version: 1, input: {} };

it('start returns the execution id', async () => {
  const id = 'd2ad1a57-7b1b-4c1f-a8ff-0c2f6f5c3e11';
  expect(await apiWith(id).start(request)).toBe(id);
});

it.each(['', '<html>', '{"workflowId":"d2ad1a57"}', 'id with\r\na field'])(
  'start refuses %j, which is not an execution id',
  async (body) => {
    await expect(apiWith(body).start(request)).rejects.toMatchObject({ name: 'EngineError', kind: 'interrupted' });
  },
);
