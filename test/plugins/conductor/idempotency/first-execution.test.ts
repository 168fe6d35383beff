// Tests of the search for the execution of a key when the index lacks that execution, and of when the router asks the
// engine to evaluate the execution.

import { describe, expect, it } from 'vitest';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import { createInbound, type InboundRequest } from '#lib/envelope/inbound.ts';
import { findFirst } from '../../../../plugins/conductor/idempotency/first-execution.ts';

const request: InboundRequest = {
  httpMethod: 'PUT',
  path: '/x',
  query: undefined,
  params: {},
  headers: {},
  requestId: 'r-1',
  clientId: 'demo',
  route: 'adaptor',
  body: Buffer.from('{}'),
};

/** Looks for the execution of a key. The engine's execution store has that execution, but the index lacks it. */
async function find(
  status: string,
  ageMs: number,
  { isStrict = true, failure }: { isStrict?: boolean; failure?: Error } = {},
) {
  const stored = {
    ...{ workflowId: 'e-1', status, startTime: Date.now() - ageMs },
    input: { inbound: createInbound(request) },
  } as unknown as WholeExecution;
  const evaluated: string[] = [];
  const found = findFirst({ name: 'key-1', workflow: 'w', request, startBefore: Infinity }, isStrict, {
    search: async () => ({ executions: [], total: 0, bytes: 0 }),
    correlated: async () => [stored],
    readWhole: async () => null,
    decide: async (executionId) => {
      evaluated.push(executionId);
      if (failure !== undefined) throw failure;
    },
  });
  return { found: (await found)?.workflowId, evaluated };
}

describe('an execution that only the execution store has', () => {
  it('running for two minutes: found, and the engine evaluates it', async () =>
    expect(await find('RUNNING', 120_000)).toEqual({ found: 'e-1', evaluated: ['e-1'] }));

  it.each([
    ['running for a short time', 'RUNNING', 5_000],
    ['ended', 'COMPLETED', 120_000],
  ])('%s: found, and not evaluated', async (_, status, ageMs) =>
    expect(await find(status, ageMs)).toEqual({ found: 'e-1', evaluated: [] }),
  );

  it('that the engine fails to evaluate: found', async () => {
    const failure = new EngineError('unreachable', 'POST /api/workflow/decide/e-1: timeout');
    expect((await find('RUNNING', 120_000, { failure })).found).toBe('e-1');
  });

  it('any other error is thrown', () =>
    expect(find('RUNNING', 120_000, { failure: new TypeError('a bug') })).rejects.toThrow('a bug'));

  it('is not looked for unless the search is strict', async () =>
    expect(await find('RUNNING', 120_000, { isStrict: false })).toEqual({ found: undefined, evaluated: [] }));
});
