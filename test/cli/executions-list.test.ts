// Tests of `executions list` on a route with two workflows.

import { createServer } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ListedExecution } from '#lib/conductor/executions/find-executions.ts';
import { listenOnLoopback, type LoopbackServer } from '../../dev/loopback-server.ts';
import { type CopyOfProduct, copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';
import { runCli } from './run-cli.ts';
import { twoWorkflows } from './two-workflows.ts';

/** Executions in the order in which they started, one second apart. */
const executions = [
  { workflowId: 'first', workflowName: 'moviesWF', route: 'movies' },
  { workflowId: 'second', workflowName: 'lms-dwWF', route: 'movies' },
  { workflowId: 'third', workflowName: 'lms-dwWF', route: 'lmsDW' },
  { workflowId: 'fourth', workflowName: 'moviesWF', route: 'movies' },
].map(({ route, ...execution }, index) => ({
  ...{ ...execution, workflowVersion: 1, status: 'COMPLETED', input: { inbound: { httpMethod: 'GET', route } } },
  ...{ output: {}, tasks: [], startTime: (index + 1) * 1_000, endTime: (index + 1) * 1_000 + 10 },
}));

let copy: CopyOfProduct;
let engine: LoopbackServer;

beforeEach(async () => {
  copy = copyOfProduct();
  engine = await listenOnLoopback(
    createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://engine');
      const body =
        pathname === '/api/workflow/search'
          ? searchNewestFirst(searchParams.get('query') ?? '')
          : executions.find(({ workflowId }) => pathname === `/api/workflow/${workflowId}`);
      response.writeHead(body === undefined ? 400 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body ?? {}));
    }),
  );
});
afterEach(async () => {
  copy.dispose();
  await engine.close();
});

/** Returns the rows of the workflow in the query, as the engine's index does; undefined for a malformed query. */
function searchNewestFirst(query: string): object | undefined {
  const [, workflow] = /^workflowType = ([^*]+)\*$/.exec(query) ?? [];
  if (workflow === undefined) return undefined;
  const results = executions
    .filter(({ workflowName }) => workflowName === workflow)
    .map(({ workflowId, workflowName, status, input, startTime }) => ({
      ...{ workflowId, workflowType: workflowName, version: 1, status, output: '{}' },
      ...{ input: JSON.stringify(input), startTime: new Date(startTime).toISOString() },
    }))
    .toReversed();
  return { results, totalHits: results.length };
}

async function list(...options: string[]): Promise<string[]> {
  const args = ['executions', 'list', '--route', 'movies', '--json', '--dir', copy.dir, '--engine', engine.url];
  const { json } = await runCli([...args, ...options]);
  return json<{ executions: ListedExecution[] }>().executions.map(({ executionId }) => executionId);
}

it('a route with two workflows: lists the executions of both, newest first', async () => {
  expect(await list()).toEqual(['fourth', 'first']);
  copy.replace('gateway.config.yml', twoWorkflows.from, twoWorkflows.to);
  expect(await list()).toEqual(['fourth', 'second', 'first']);
  expect(await list('--limit', '2')).toEqual(['fourth', 'second']);
});

it('a route with two workflows and --workflow: lists the executions of that workflow only', async () => {
  copy.replace('gateway.config.yml', twoWorkflows.from, twoWorkflows.to);
  expect(await list('--workflow', 'lms-dwWF')).toEqual(['second']);
});
