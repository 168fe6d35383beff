// Tests of the commands `executions` and `workers` on a real engine, with executions in each state.

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../cli/run-cli.ts';
import { type Caller, callerFor } from '../stack/client.ts';
import { engineApi } from '../stack/engine-api.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

const engineUrl = engineOfRun().url;
const engine = engineApi(engineUrl);
let stack: Stack;
let demo: Caller;

/** The router accepts these MIS codes, but the workers have no address for them, so executions for them fail. */
const unserved = { ADAPTOR_777_URL: 'http://127.0.0.1:9', ADAPTOR_778_URL: 'http://127.0.0.1:9' };

beforeAll(async () => {
  stack = await shareStack({ engineUrl, router: unserved });
  demo = await callerFor(stack.url);
});
afterAll(() => stack?.stop());

const cli = (args: string[], env: Record<string, string> = {}) => runCli([...args, '--engine', engineUrl], env);
const ops = { OPS_CLIENTID: 'ops', OPS_CLIENTSECRET: 'ops-secret' };
const idOf = (headers: Record<string, unknown>) => String(headers['x-execution-id']);
const newDomain = () => `d${randomBytes(4).toString('hex')}`;

interface Listed {
  executionId: string;
  state: string;
  route?: string;
  clientId?: string;
  responseStatus?: number;
  answered?: number;
}
interface Shown {
  state: string;
  reason?: string;
  clientId?: string;
  timeline: {
    steps: { task: string; state: string; attempt: number; polls: number; worker?: string; waitedMs?: number }[];
    failed: string[];
    waitsFor?: string;
  };
  follows: { workflow: string; state: string }[];
}

const list = async (...options: string[]) =>
  (await cli(['executions', 'list', '--json', ...options])).json<{ executions: Listed[] }>().executions;
const show = async (id: string) => (await cli(['executions', 'show', id, '--json'])).json<Shown>();

/** Starts a PATCH in a separate domain, which only the test polls; returns the execution id. */
async function startPatch(domain: string, person = '0319375'): Promise<string> {
  const inbound = {
    httpMethod: 'PATCH',
    path: `/mock/colleges/001/persons/${person}`,
    params: { mis: '001' },
    headers: { 'content-type': 'application/json' },
    requestId: `cli-test-${domain}`,
    clientId: `client-${domain}`,
    route: 'adaptor',
    body: JSON.stringify({ cccid: 'SECRETVALUE' }),
    bodyEncoding: 'text',
  };
  const start = { name: 'college-adaptorWF', version: 2, input: { inbound }, taskToDomain: { '*': domain } };
  return (await engine.send('POST', '/workflow', start)).text;
}

async function take(domain: string): Promise<{ taskId: string }> {
  const path = `/tasks/poll/batch/college-adaptor_intake?count=1&timeout=0&domain=${domain}&workerid=hand-${domain}`;
  const [task] = await engine.get<{ taskId: string }[]>(path);
  expect(task).toBeDefined();
  return task!;
}

async function report(task: { taskId: string }, id: string, result: object): Promise<void> {
  await engine.send('POST', '/tasks', { taskId: task.taskId, workflowInstanceId: id, ...result });
}

describe('executions list', () => {
  it('lists only the executions that match a route, client and state, newest first, without payloads', async () => {
    const first = idOf((await demo('/movies/Metropolis')).headers);
    const second = idOf((await demo('/movies/Nobody-knows-it')).headers);
    const listed = await list('--route', 'movies', '--client', 'demo', '--state', 'completed', '--since', '1h');
    expect(listed.slice(0, 2).map(({ executionId, responseStatus }) => [executionId, responseStatus])).toEqual([
      [second, 404],
      [first, 200],
    ]);
    expect(
      listed.every(({ route, clientId, state }) => route === 'movies' && clientId === 'demo' && state === 'COMPLETED'),
    ).toBe(true);
    const { stdout } = await cli(['executions', 'list', '--route', 'movies', '--client', 'demo', '--limit', '2']);
    expect(stdout).toContain(second);
    expect(stdout).not.toMatch(/Metropolis|Nobody-knows-it|\u001b/);
  });

  it('does not list a request under a client whose id is only part of the path', async () => {
    await demo('/movies/x,%20clientId=somebody-else');
    expect(await list('--client', 'somebody-else')).toEqual([]);
  });

  it('finds failed executions by state; for an unknown state or route, lists the known ones (exit 1)', async () => {
    const failed = idOf((await demo('/adaptor/777/x')).headers);
    expect((await list('--route', 'adaptor', '--state', 'failed')).map(({ executionId }) => executionId)).toContain(
      failed,
    );
    const route = await cli(['executions', 'list', '--route', 'film']);
    expect([route.exitCode, route.stderr]).toEqual([
      1,
      expect.stringMatching(/^--route: film is not one of .*\badaptor, movies\b.*\n$/),
    ]);
    const state = await cli(['executions', 'list', '--state', 'broken']);
    expect([state.exitCode, state.stderr]).toMatchObject([
      1,
      expect.stringContaining('broken is not one of running, completed'),
    ]);
  });

  it('lists the same executions through the router as the ops client', async () => {
    const through = ['executions', 'list', '--limit', '3', '--json', '--route', 'movies'];
    const there = (await runCli([...through, '--router', stack.url], ops)).json<{ executions: Listed[] }>();
    expect(there.executions).toEqual((await cli(through)).json<{ executions: Listed[] }>().executions);
  });
});

describe('executions show', () => {
  it('shows the tasks and follow-ups of a PATCH, and personal values only with --payload', async () => {
    const answer = await demo('/adaptor/001/mock/colleges/001/persons/0319375', {
      method: 'PATCH',
      json: { cccid: 'SHOWN01' },
    });
    const id = idOf(answer.headers);
    await pollUntil(
      'mdmWF to follow',
      async () => (await show(id)).follows.some(({ workflow }) => workflow === 'mdmWF'),
      { everyMs: 1_000 },
    );
    const { timeline, state } = await show(id);
    expect(state).toBe('COMPLETED');
    expect(timeline.steps.map(({ task, attempt }) => [task, attempt])).toEqual([
      ['college-adaptor_intake', 1],
      ['on_patch', 1],
      ['person_patched', 1],
    ]);
    expect(timeline.steps[0]).toMatchObject({
      state: 'COMPLETED',
      polls: 1,
      worker: expect.any(String),
      waitedMs: expect.any(Number),
    });
    for (const options of [[], ['--json']]) {
      const { stdout } = await cli(['executions', 'show', id, ...options]);
      expect(stdout).not.toMatch(/SHOWN01|0319375|persons/);
    }
    const open = await cli(['executions', 'show', id, '--payload']);
    expect(open.stdout).toMatch(/^request {2}PATCH .*persons\/0319375$/m);
    expect(open.stdout).toContain('"cccid":"SHOWN01"');
  });

  it('shows which task of a failed execution failed, and why', async () => {
    const { state, reason, timeline } = await show(idOf((await demo('/adaptor/778/x')).headers));
    expect({ state, reason, failed: timeline.failed }).toEqual({
      state: 'FAILED',
      reason: 'unknown-college: no adaptor is configured for this MIS code',
      failed: ['college-adaptor_intake'],
    });
  });

  it('removes personal values from the reason that a third-party worker gives', async () => {
    const domain = newDomain();
    const id = await startPatch(domain);
    const reasonForIncompletion = 'no rights on /persons/0319375 of ramona@college.example\n  at stack line';
    await report(await take(domain), id, { status: 'FAILED_WITH_TERMINAL_ERROR', reasonForIncompletion });
    const { stdout } = await cli(['executions', 'show', id]);
    expect(stdout).toContain('no rights on /persons/[removed]');
    expect(stdout).not.toMatch(/ramona|0319375|stack line|SECRETVALUE/);
  });

  it('shows the task, domain and worker of an execution that waits for a worker and then for a result', async () => {
    const domain = newDomain();
    const id = await startPatch(domain);
    expect((await show(id)).timeline.waitsFor).toMatch(
      new RegExp(`^a worker to take college-adaptor_intake in domain ${domain} \\(\\d+ s so far\\)$`),
    );
    await take(domain);
    const { timeline } = await show(id);
    expect(timeline.waitsFor).toMatch(/^the result of college-adaptor_intake/);
    expect(timeline.steps[0]).toMatchObject({ state: 'IN_PROGRESS', worker: `hand-${domain}` });
    await cli(['executions', 'terminate', id, '--yes']);
  });

  it('exits with 1 and a reason for an unknown id and for a malformed id', async () => {
    const unknown = await cli(['executions', 'show', '00000000-0000-4000-8000-000000000000']);
    expect([unknown.exitCode, unknown.stderr]).toMatchObject([
      1,
      expect.stringContaining('has no execution 00000000-'),
    ]);
    const bad = await cli(['executions', 'show', '../metadata']);
    expect([bad.exitCode, bad.stderr]).toMatchObject([1, expect.stringContaining('is not an execution id')]);
  });
});

describe('executions retry, terminate and cancel', () => {
  it('without --yes and without a terminal, nothing is changed and the exit code is 1', async () => {
    const id = await startPatch(newDomain());
    for (const command of ['terminate', 'cancel']) {
      const { exitCode, stderr } = await cli(['executions', command, id]);
      expect([exitCode, stderr]).toMatchObject([1, expect.stringContaining('nothing was changed')]);
    }
    expect((await show(id)).state).toBe('RUNNING');
    await cli(['executions', 'cancel', id, '--yes']);
  });

  it('cancel ends only executions that no worker has begun; terminate ends the others too', async () => {
    const [idle, busy] = [newDomain(), newDomain()];
    const [waiting, taken] = [await startPatch(idle), await startPatch(busy)];
    await take(busy);
    const cancelled = await cli(['executions', 'cancel', waiting, taken, '--yes', '--json']);
    expect(cancelled.exitCode).toBe(2);
    expect(cancelled.json()).toMatchObject({
      executions: [
        { executionId: waiting, outcome: 'done' },
        {
          executionId: taken,
          outcome: 'refused',
          reason: expect.stringContaining('a worker has begun college-adaptor_intake'),
        },
      ],
    });
    expect([(await show(waiting)).state, (await show(taken)).state]).toEqual(['TERMINATED', 'RUNNING']);
    const ended = await cli(['executions', 'terminate', taken, '--yes', '--reason', 'the college is closed']);
    expect([ended.exitCode, ended.stdout]).toMatchObject([0, expect.stringContaining('remains unknown')]);
    expect(await show(taken)).toMatchObject({ state: 'TERMINATED', reason: 'the college is closed' });
    const again = await cli(['executions', 'terminate', taken, '--yes']);
    expect([again.exitCode, again.stderr]).toEqual([1, `${taken}: it has already ended: TERMINATED\n`]);
  });

  it('retry warns that a failed PATCH is sent again, and the execution continues and completes', async () => {
    const domain = newDomain();
    const id = await startPatch(domain);
    await report(await take(domain), id, { status: 'FAILED', reasonForIncompletion: 'back-end-timeout: no response' });
    expect((await show(id)).state).toBe('FAILED');
    const retried = await cli(['executions', 'retry', id, '--yes']);
    expect([retried.exitCode, retried.stdout]).toMatchObject([
      0,
      expect.stringContaining('a PATCH is sent to the back end again'),
    ]);
    const outbound = { statusCodeValue: 404, headers: {} };
    await report(await take(domain), id, { status: 'COMPLETED', outputData: { outbound } });
    const { state, timeline } = await show(id);
    expect(state).toBe('COMPLETED');
    expect(timeline.steps.slice(0, 2).map(({ state: step, attempt }) => [step, attempt])).toEqual([
      ['FAILED', 1],
      ['COMPLETED', 2],
    ]);
  });

  it('retry refuses completed, running and unknown executions, each with a reason, and exits with 1', async () => {
    const completed = idOf((await demo('/movies/Metropolis')).headers);
    const running = await startPatch(newDomain());
    const unknown = '00000000-0000-4000-8000-000000000001';
    const { exitCode, stderr } = await cli(['executions', 'retry', completed, running, unknown, '--yes']);
    expect(exitCode).toBe(1);
    expect(stderr).toBe(
      `${completed}: only failed executions can be retried, and this one is COMPLETED\n${running}: only failed executions can be retried, and this one is RUNNING\n${unknown}: the engine has no such execution\n`,
    );
    await cli(['executions', 'cancel', running, '--yes']);
  });
});

describe('workers', () => {
  it('exits with 2 while a task waits and no worker polls for it; shows the worker that polls a domain', async () => {
    expect((await cli(['workers', '--domain', '002'])).exitCode).toBe(0);
    const domain = newDomain();
    const id = await startPatch(domain);
    const deserted = await cli(['workers', '--domain', domain]);
    expect(deserted.exitCode).toBe(2);
    expect(deserted.stdout).toMatch(new RegExp(`^college-adaptor_intake +${domain} +1 +nobody polls`, 'm'));
    await take(domain);
    const { stdout, exitCode } = await cli(['workers', '--domain', domain]);
    expect(stdout).toMatch(new RegExp(`^college-adaptor_intake +${domain} +0 +\\d+ s ago +hand-${domain}$`, 'm'));
    expect(exitCode).toBe(0);
    await cli(['executions', 'terminate', id, '--yes']);
  });
});
