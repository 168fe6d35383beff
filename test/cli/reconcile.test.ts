// Tests of `reconcile`: how far it may look back, and what it reports when the engine fails midway.

import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { EngineRequest } from '#lib/conductor/send-call.ts';
import { createOutbound } from '#lib/envelope/outbound.ts';
import { listenOnLoopback, type LoopbackServer } from '../../dev/loopback-server.ts';
import { createEngineIndex, type EngineIndex } from '../jobs/reconcile/engine-index.ts';
import { runCli } from './run-cli.ts';

const away = 'http://127.0.0.1:1';
const reconcile = (lookBack: string, env: Record<string, string>) =>
  runCli(['reconcile', '--yes', '--engine', away, '--look-back', lookBack], env);

it.each([
  ['completedDays', '7d', { PRUNE_COMPLETEDDAYS: '3' }],
  ['failedDays', '3d', { PRUNE_FAILEDDAYS: '3' }],
  [
    'completedDays, even if a route keeps its executions for longer',
    '7d',
    { PRUNE_COMPLETEDDAYS: '3', 'prune.adaptor.days': '30' },
  ],
])('refuses a look-back not shorter than prune.%s, before it calls the engine', async (_name, lookBack, env) => {
  const { exitCode, stderr } = await reconcile(lookBack, env);
  expect(exitCode).toBe(1);
  expect(stderr).toBe(
    `--look-back ${lookBack}: must be shorter than the 3 d for which the follow-up executions of PATCHes are kept (prune.completedDays, prune.failedDays); otherwise, MDM would be notified again of PATCHes whose follow-up executions were pruned\n`,
  );
});

it('accepts a shorter look-back, however long --after is', async () => {
  const { stderr } = await runCli(['reconcile', '--engine', away, '--look-back', '2d', '--after', '600d'], {
    PRUNE_COMPLETEDDAYS: '3',
  });
  expect(stderr).toContain(`${away} does not respond`);
});

describe('an engine that fails midway', () => {
  let index: EngineIndex;
  let engine: LoopbackServer;
  /** Returns true for a request on which the engine closes the connection without a response. */
  let breaks: (request: EngineRequest) => boolean;

  beforeEach(async () => {
    index = createEngineIndex();
    for (const id of ['patch-1', 'patch-2']) index.put(lostPatch(id));
    const server = createServer(async (request, response) => {
      const method = request.method as EngineRequest['method'];
      const sent: EngineRequest = { method, path: request.url ?? '', body: await text(request) };
      if (breaks(sent)) return void request.socket.destroy();
      // The engine refuses the malformed query with which the CLI finds out whether there is an index.
      const { status, body } = await index.call(sent).catch(() => ({ status: 400, body: '{}' }));
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
    engine = await listenOnLoopback(server);
  });
  afterEach(() => engine.close());

  /** Returns a PATCH that completed without its notification. */
  function lostPatch(workflowId: string, fields: Partial<WholeExecution> = {}): WholeExecution {
    const [startTime, endTime] = [Date.now() - 122_000, Date.now() - 120_000];
    const outbound = createOutbound({ status: 200, headers: {}, body: Buffer.from('{"cccid":"C1"}') });
    const name = 'college-adaptor_intake';
    const task = { taskId: `t-${workflowId}`, taskType: name, referenceTaskName: name, status: 'COMPLETED' };
    return {
      ...{ workflowId, workflowName: 'college-adaptorWF', workflowVersion: 2, status: 'COMPLETED', startTime, endTime },
      input: { inbound: { httpMethod: 'PATCH', path: '/persons/p1', params: { mis: '001' }, requestId: 'r-1' } },
      output: { outbound },
      tasks: [{ ...task, pollCount: 1, startTime, endTime, outputData: { outbound } }],
      ...fields,
    };
  }

  const isStart = ({ method, path }: EngineRequest) => method === 'POST' && path === '/api/workflow';
  const repair = (...options: string[]) => runCli(['reconcile', '--yes', '--engine', engine.url, ...options]);
  const startedOne = expect.objectContaining({ action: 'started', started: ['started-1'] });

  it('one start is interrupted → the other start is made, exit 2', async () => {
    let starts = 0;
    breaks = (request) => isStart(request) && ++starts === 1;
    const { exitCode, json } = await repair('--json');
    const reason = expect.stringContaining(`${engine.url} does not respond: POST /api/workflow: `);
    expect([exitCode, json()]).toMatchObject([2, { ok: false, isComplete: true }]);
    expect(json()['findings']).toEqual(
      expect.arrayContaining([startedOne, expect.objectContaining({ action: 'none', reason })]),
    );
  });

  describe('a read is interrupted', () => {
    beforeEach(() => {
      index.put(lostPatch('probe-1', { workflowVersion: 1, correlationId: 'patch-2' }));
      breaks = ({ path }) => path.startsWith('/api/workflow/probe-1');
    });
    const isNamed = () => expect.stringContaining(`${engine.url} does not respond: GET /api/workflow/probe-1: `);

    it('→ prints what was repaired and the failure, exit 1', async () => {
      const { exitCode, stdout, stderr } = await repair();
      expect([exitCode, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^patch-1 +event_lost +started +started-1$/m);
      expect(stderr.trimEnd().split('\n').at(-1)).toEqual(isNamed());
    });

    it('with --json → prints a document with the findings and the failure', async () => {
      const { exitCode, stderr, json } = await repair('--json');
      expect([exitCode, stderr]).toEqual([1, '']);
      expect(json()).toMatchObject({ ok: false, problems: [isNamed()], findings: [startedOne], isComplete: false });
    });

    it('before the confirmation → prints what was found and the failure, and asks nothing, exit 1', async () => {
      const { exitCode, stderr } = await runCli(['reconcile', '--engine', engine.url], {}, { answer: 'y' });
      expect([exitCode, stderr]).toEqual([1, isNamed()]);
      expect(stderr).toMatch(/^patch-1 +event_lost +start the missing follow-up executions +-$/m);
      expect(stderr).not.toContain('[y/N]');
    });
  });
});
