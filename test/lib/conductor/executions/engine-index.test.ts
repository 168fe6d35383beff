// Tests of the queries that the client sends to the engine's index.

import { expect, it } from 'vitest';
import { EngineIndex } from '#lib/conductor/executions/engine-index.ts';
import type { SendRequest } from '#lib/conductor/send-call.ts';

/** Returns an index with one row for each workflow; it evaluates only conditions on the workflow name. */
function indexOf(...workflows: string[]) {
  const call: SendRequest = async ({ path }) => {
    const query = new URL(path, 'http://engine').searchParams.get('query') ?? '';
    const wanted = /workflowType = (\S+)/.exec(query)?.[1] ?? '*';
    const isPattern = wanted.endsWith('*');
    const found = workflows.filter((name) => (isPattern ? name.startsWith(wanted.slice(0, -1)) : name === wanted));
    const results = found.map((workflowType) => ({ workflowType }));
    return { status: 200, headers: {}, body: Buffer.from(JSON.stringify({ totalHits: found.length, results })) };
  };
  return new EngineIndex(call);
}

it.each([
  ['moviesWF', 1],
  ['movies*', 2],
  ['other', 0],
])('counts the executions of %s: %i', async (workflowType, count) => {
  const index = indexOf('moviesWF', 'moviesWF2');
  expect(await index.count({ workflowType, statuses: ['COMPLETED'] })).toBe(count);
});

it('searches with a pattern, so that SQLite uses its index on the start time', async () => {
  const { executions } = await indexOf('moviesWF', 'moviesWF2').search(
    { workflowType: 'moviesWF' },
    { offset: 0, size: 10 },
  );
  expect(executions.map(({ workflowType }) => workflowType)).toEqual(['moviesWF', 'moviesWF2']);
});
