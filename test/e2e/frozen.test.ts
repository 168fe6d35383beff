// Tests of processes that are stopped (SIGSTOP) and continued too late: nothing is sent to a back end twice or late.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { Engine } from '#lib/conductor/engine.ts';
import { superseded } from '#lib/conductor/executions/superseded.ts';
import type { BackEndEvent } from '../../dev/back-ends/history.ts';
import { scaleResponseTimeouts } from '../faults/response-timeouts.ts';
import { call, type Caller, callerFor, tokenOf } from '../stack/client.ts';
import { readCount } from '../stack/metrics.ts';
import { pollUntil } from '../stack/poll-until.ts';
import type { Program } from '../stack/program.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

const engineUrl = engineOfRun().url;
const engine = new Engine({ url: engineUrl, timeoutMs: 60_000, connections: 2 });
const executions = new ExecutionApi((request) => engine.request(request));
const dir = mkdtempSync(join(tmpdir(), 'service-router-frozen-'));
const historyFile = join(dir, 'history.jsonl');
writeFileSync(historyFile, '');

let stack: Stack;
let demo: Caller;
let restore: () => Promise<void>;

beforeAll(async () => {
  // The response timeout of a write becomes 3 s instead of 90 s.
  restore = await scaleResponseTimeouts(engineUrl, 1 / 30);
  stack = await shareStack({
    engineUrl,
    router: { ROUTER_RESPONSEDEADLINEMS: '2000' },
    // Long, because the stopped worker must still have an open poll, which receives the task.
    workers: { WORKERS_POLLTIMEOUTMS: '60000', WORKERS_TASKTYPES: 'college-adaptor_intake' },
    backEnds: { BACKENDS_HISTORY_FILE: historyFile },
    colocatedDomain: null,
  });
  demo = await callerFor(stack.url);
  await pollUntil('the workers to serve', async () => (await demo('/adaptor/001/mock/echo')).status === 200);
});
afterAll(async () => {
  await stack?.stop();
  await restore?.();
  await engine.close();
  rmSync(dir, { recursive: true, force: true });
});

const newPath = () => `/adaptor/001/mock/echo/${randomUUID()}`;
const write = { method: 'PUT', body: '{"name":"x"}', headers: { 'content-type': 'application/json' } };

/** Returns how often the back end received a request for a path. */
function countReceived(path: string): number {
  const lines = readFileSync(historyFile, 'utf8').trimEnd().split('\n');
  const events = lines.map((line) => JSON.parse(line) as BackEndEvent);
  const target = path.slice(path.lastIndexOf('/'));
  return events.filter((event) => event.event === 'received' && event.target.endsWith(target)).length;
}

/** Waits until a new write succeeds; by then, everything that was in progress has been sent. */
async function writeAndWait(): Promise<void> {
  await pollUntil('a write to succeed', async () => (await demo(newPath(), write)).status === 200);
}

async function whileStopped<T>(program: Program | undefined, work: () => Promise<T>): Promise<T> {
  program?.process.kill('SIGSTOP');
  try {
    return await work();
  } finally {
    program?.process.kill('SIGCONT');
  }
}

const ended = (id: string) => async (): Promise<WholeExecution | undefined> => {
  const execution = await executions.readWhole(id);
  return execution === null || execution.status === 'RUNNING' ? undefined : execution;
};

describe('a process that is stopped and continued', () => {
  it('a worker continues after the response timeout of its write: the back end does not get the write', async () => {
    const path = newPath();
    await pollUntil('an open poll', async () => (await readCount(stack.operationsUrl, 'router_held_polls')) > 0);
    const answer = await whileStopped(stack.workers[0], async () => {
      const { status, json } = await demo(path, write);
      const { executionId } = json<{ executionId: string }>();
      await pollUntil('the engine to give up the task', async () => {
        // Without this call, the engine might take up to half a minute to check the execution.
        await executions.decide(executionId);
        return ended(executionId)();
      });
      return { status, executionId };
    });
    await writeAndWait();
    expect([answer.status, countReceived(path)]).toEqual([504, 0]);
    expect((await executions.readWhole(answer.executionId))?.status).toBe('TIMED_OUT');
  });

  it('a router continues after the client of a write has gone: the back end does not get the write', async () => {
    const token = await tokenOf(stack.url);
    const path = newPath();
    const headers = { ...write.headers, authorization: `bearer ${token}` };
    await whileStopped(stack.router, async () => {
      const left = call(`${stack.url}${path}`, { ...write, headers, signal: AbortSignal.timeout(500) });
      await expect(left).rejects.toThrow();
    });
    await writeAndWait();
    expect(countReceived(path)).toBe(0);
  });
});

it('a late second execution for an Idempotency-Key is terminated, and the back end gets no second write', async () => {
  const path = newPath();
  const keyed = { ...write, headers: { ...write.headers, 'idempotency-key': randomUUID() } };
  // The response deadline is short, so the first request may get 504. A repeated request gets the response of the same
  // execution.
  const first = await pollUntil('the response', async () => {
    const answer = await demo(path, keyed);
    return answer.status === 200 && answer;
  });
  const { workflowName, workflowVersion, correlationId, input, taskToDomain } = (await executions.readWhole(
    String(first.headers['x-execution-id']),
  )) as WholeExecution;
  const start = { name: workflowName, version: workflowVersion, correlationId: String(correlationId), input };
  const late = await executions.start({ ...start, ...(taskToDomain && { taskToDomain: { ...taskToDomain } }) });
  const { status, reasonForIncompletion } = (await pollUntil('the execution to end', ended(late))) as WholeExecution;
  expect([status, reasonForIncompletion]).toEqual(['TERMINATED', superseded]);
  expect(countReceived(path)).toBe(1);
  const replay = await demo(path, keyed);
  expect([replay.status, replay.text, replay.headers['x-execution-id']]).toEqual([
    200,
    first.text,
    first.headers['x-execution-id'],
  ]);
});
