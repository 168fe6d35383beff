// Tests of `status` against an engine with and without an index of executions.

import { createServer } from 'node:http';
import { afterEach, expect, it } from 'vitest';
import { listenOnLoopback, type LoopbackServer } from '../../dev/loopback-server.ts';
import { runCli } from './run-cli.ts';

let engine: LoopbackServer;
afterEach(() => engine.close());

/**
 * Starts an engine without definitions. As in Conductor, a malformed query is rejected when the engine has an index,
 * and accepted when it has none.
 */
async function startEngine({ hasIndex }: { hasIndex: boolean }) {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://engine');
    const query = searchParams.get('query') ?? '';
    const isSearch = pathname === '/api/workflow/search';
    response.writeHead(isSearch && hasIndex && query === 'indexed' ? 400 : 200, { 'content-type': 'application/json' });
    const found = { results: [], totalHits: hasIndex && query.includes('RUNNING') ? 3 : 0 };
    const queues = pathname === '/api/tasks/queue/all' ? {} : [];
    response.end(JSON.stringify(isSearch ? found : queues));
  });
  engine = await listenOnLoopback(server);
  return (...options: string[]) => runCli(['status', '--engine', engine.url, ...options]);
}

it('an engine with an index: shows how many executions are running, failed and timed out', async () => {
  const status = await startEngine({ hasIndex: true });
  expect((await status()).stdout).toMatch(/^executions {3}3 running, 0 failed, 0 timed out$/m);
  expect((await status('--json')).json()).toMatchObject({ executions: { RUNNING: 3, FAILED: 0, TIMED_OUT: 0 } });
});

it('an engine without an index: says that the numbers are unknown', async () => {
  const status = await startEngine({ hasIndex: false });
  expect((await status()).stdout).toMatch(
    /^executions {3}unknown: the engine has no index of executions; `executions list` searches the records in redis\.url$/m,
  );
  expect((await status('--json')).json()).toMatchObject({ executions: null });
});
