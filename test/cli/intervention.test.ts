// Tests of `executions retry` and `executions cancel` when, midway, the engine fails or a worker takes a task: the
// commands report what was done.

import { createServer } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { listenOnLoopback, type LoopbackServer } from '../../dev/loopback-server.ts';
import { runCli } from './run-cli.ts';

const [first, second, third] = ['a', 'b', 'c'].map((digit) => `${digit.repeat(8)}-0000-4000-8000-000000000000`) as [
  string,
  string,
  string,
];
let engine: LoopbackServer;
let changes: string[];
/** Status of every execution. */
let status: string;
/** Request to which the engine reacts by closing the connection without a response. */
let breaksAt: string;
/** The execution whose task a worker takes once the execution has been read. */
let taken: string | undefined;
/** The execution that the engine returns only at the first read; later reads get no response. */
let unreadable: string | undefined;

beforeEach(async () => {
  [changes, breaksAt, taken, unreadable] = [[], '', undefined, undefined];
  const reads = new Set<string>();
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    const call = `${request.method} ${path.slice('/api/workflow/'.length)}`;
    if (request.method !== 'GET') changes.push(call);
    if (call === breaksAt && (request.method !== 'GET' || changes.length > 0)) return void request.socket.destroy();
    const workflowId = path.split('/')[3] ?? '';
    if (workflowId === unreadable && reads.has(workflowId)) return void request.socket.destroy();
    const pollCount = workflowId === taken && reads.has(workflowId) ? 1 : 0;
    if (request.method === 'GET') reads.add(workflowId);
    const execution = {
      ...{ workflowId, status },
      input: { inbound: { httpMethod: 'PATCH' } },
      tasks: [{ taskType: 'movies_intake', referenceTaskName: 'intake', status: 'SCHEDULED', pollCount }],
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(execution));
  });
  engine = await listenOnLoopback(server);
});
afterEach(() => engine.close());

const executions = (...args: string[]) => runCli(['executions', ...args, '--yes', '--engine', engine.url]);

it('retry, and the engine fails at the second of three → done, unknown and not tried, exit 1', async () => {
  [status, breaksAt] = ['FAILED', `POST ${second}/retry`];
  const { exitCode, stderr } = await executions('retry', first, second, third);
  expect(exitCode).toBe(1);
  expect(stderr.trimEnd().split('\n')).toEqual([
    `${first}  retried`,
    expect.stringMatching(`^${second}  unknown    ${engine.url} does not respond: `),
    `${third}  not tried`,
  ]);
  expect(changes).toEqual([`POST ${first}/retry`, `POST ${second}/retry`]);
});

it('the same with --json → a document with the outcome of each execution and the problem', async () => {
  [status, breaksAt] = ['FAILED', `POST ${second}/retry`];
  const { exitCode, stderr, json } = await executions('retry', first, second, third, '--json');
  expect([exitCode, stderr]).toEqual([1, '']);
  expect(json()).toEqual({
    ok: false,
    problems: [expect.stringMatching(`^${second}: ${engine.url} does not respond: `)],
    executions: [
      { executionId: first, outcome: 'done' },
      { executionId: second, outcome: 'unknown', reason: expect.stringContaining('does not respond') },
      { executionId: third, outcome: 'not tried' },
    ],
  });
});

it('cancel, and the execution cannot be read again → cancelled, with a warning, exit 0', async () => {
  [status, breaksAt] = ['RUNNING', `GET ${first}`];
  const { exitCode, stdout } = await executions('cancel', first);
  expect(exitCode).toBe(0);
  expect(stdout).toContain(
    `${first}  cancelled  it is unknown whether a worker received the task just before the cancellation: `,
  );
  expect(stdout).toContain('does not respond');
  expect(changes).toEqual([`DELETE ${first}`]);
});

it('cancel, and the second of three cannot be read before it is cancelled → not tried, exit 1', async () => {
  [status, unreadable] = ['RUNNING', second];
  const { exitCode, stderr } = await executions('cancel', first, second, third);
  expect(exitCode).toBe(1);
  expect(stderr.trimEnd().split('\n')).toEqual([
    `${first}  cancelled`,
    expect.stringMatching(`^${second}  not tried  ${engine.url} does not respond: `),
    `${third}  not tried`,
  ]);
  expect(changes).toEqual([`DELETE ${first}`]);
});

it('cancel, and a worker takes a task while the operator is asked → that cancellation is refused, exit 2', async () => {
  [status, taken] = ['RUNNING', first];
  const args = ['executions', 'cancel', first, second, '--engine', engine.url];
  const { exitCode, stdout } = await runCli(args, {}, { answer: 'y' });
  expect(exitCode).toBe(2);
  expect(stdout.trimEnd().split('\n')).toEqual([
    `${first}  can be done`,
    `${second}  can be done`,
    expect.stringMatching(`^${first}  refused    a worker has begun intake: `),
    `${second}  cancelled`,
  ]);
  expect(changes).toEqual([`DELETE ${second}`]);
});
