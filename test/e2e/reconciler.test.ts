// Tests of the reconciler: it finds PATCHes whose event or follow-up execution the engine has lost, and repairs them.
// Two routers that do not know of each other run the reconciler at the same time.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOutbound } from '#lib/envelope/outbound.ts';
import type { RunningEngine } from '../../dev/engine/start-engine.ts';
import { call, type Caller, callerFor } from '../stack/client.ts';
import type { EngineExecution } from '../stack/engine-api.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { type Program, startProgram } from '../stack/program.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { startPreparedEngine } from '../stack/prepared-engine.ts';
import { newCccid } from '../stack/new-cccid.ts';
import { type LostEvents, lostEventsOf } from './lost-events.ts';

/** Short intervals, so that tests need not wait long. */
const reconciler = {
  RECONCILER_INTERVALMS: '500',
  RECONCILER_AFTERMS: '1500',
};

/**
 * State directory of a separate engine: on a shared engine, executions that other test files leave behind would also be
 * reported as unreconciled.
 */
const stateDir = mkdtempSync(join(tmpdir(), 'service-router-reconciler-'));
let ownEngine: RunningEngine;
let stack: Stack;
let second: Program;
let demo: Caller;

beforeAll(async () => {
  ownEngine = await startPreparedEngine({ port: await findFreePort(), stateDir, say: () => undefined });
  stack = await shareStack({ engineUrl: ownEngine.url, router: reconciler });
  second = await startProgram('gateway/main.ts', stack.routerEnv);
  demo = await callerFor(stack.url);
});
afterAll(async () => {
  await second?.stop();
  await stack?.stop();
  await ownEngine?.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

const engine = (path: string, method = 'GET', body?: unknown) =>
  call(`${ownEngine.url}/api${path}`, {
    method,
    ...(body === undefined ? {} : { json: body }),
  });

interface Task {
  taskId: string;
  workflowInstanceId: string;
  referenceTaskName: string;
  status: string;
}
const read = async (id: string) => (await engine(`/workflow/${id}?includeTasks=true`)).json<EngineExecution>();
const correlated = async (name: string, id: string) =>
  (await engine(`/workflow/${name}/correlated/${id}?includeClosed=true&includeTasks=true`)).json<EngineExecution[]>();
const logOf = async (source: string) =>
  (await call(`${stack.backEndsUrl}/mdm/governance-log?executionId=${source}`)).json<Record<string, unknown>[]>();
const kindsOf = async (source: string) => (await logOf(source)).map(({ kind, status }) => `${kind} ${status}`);

/** Returns a metric of the reconcilers, summed over the running routers, by its label values. */
async function metricOf(name: string): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const { ready } of [stack.router, second].filter((router) => router.isAlive())) {
    const { text } = await call(`${ready['operationsUrl']}/metrics`);
    for (const [, labels = '', value] of text.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\d+)$`, 'gm'))) {
      const label = [...labels.matchAll(/"([^"]*)"/g)].map(([, text]) => text).join(' ');
      sums[label] = (sums[label] ?? 0) + Number(value);
    }
  }
  return sums;
}

/**
 * Waits until one of the labels has been counted more than `count` times since `before`; a repair may take effect
 * before it is counted.
 */
const untilCounted = (before: Record<string, number>, labels: string | string[], count = 0) =>
  pollUntil(`more than ${count} of ${String(labels)} to be counted`, async () => {
    const now = await metricOf('router_reconciled_total');
    return [labels].flat().some((label) => (now[label] ?? 0) - (before[label] ?? 0) > count);
  });

const person = (id: string) => `/adaptor/001/mock/colleges/001/persons/${id}`;
const patch = (path: string, body: unknown, caller = demo) => caller(path, { method: 'PATCH', json: body });

const lostEvents = () => lostEventsOf({ url: ownEngine.url, stateDir: ownEngine.pid === undefined ? '' : stateDir });
const withoutHandler: LostEvents['withoutHandler'] = (...args) => lostEvents().withoutHandler(...args);
const untilEventsTaken: LostEvents['untilEventsTaken'] = (queue) => lostEvents().untilEventsTaken(queue);

const untilNotified = (source: string, entries: string[]) =>
  pollUntil(`MDM to hear of ${source}`, async () => (await kindsOf(source)).length === entries.length).then(async () =>
    expect(await kindsOf(source)).toEqual(entries),
  );

const untilReconciled = () =>
  pollUntil('no event to be unreconciled', async () =>
    Object.values(await metricOf('router_events_unreconciled')).every((count) => count === 0),
  ).catch((error: unknown) => {
    throw new Error(findings(), { cause: error });
  });

/** Returns the last findings in the logs of both routers. */
function findings(): string {
  const logOf = (router: Program) =>
    router
      .output()
      .split('\n')
      .filter((line) => line.includes('"reconcile finding"'));
  return [stack.router, second].flatMap((router) => logOf(router).slice(-10)).join('\n');
}

describe('an event that starts no workflow', () => {
  it('after a PATCH: MDM is notified effectively once, as if the handler had started mdmWF', async () => {
    const before = await metricOf('router_reconciled_total');
    const cccid = newCccid('R');
    let source = '';
    await withoutHandler('mdm', async () => {
      const answer = await patch(person('0319375'), { cccid });
      expect(answer).toMatchObject({ status: 200 });
      source = String(answer.headers['x-execution-id']);
      await untilEventsTaken('college-adaptorWF:person_patched');
    });
    await untilNotified(source, ['notification recorded']);
    await untilCounted(before, 'event_lost started');

    const [started] = await correlated('mdmWF', source);
    const original = await read(source);
    const event = original.tasks.find(({ referenceTaskName }) => referenceTaskName === 'person_patched');
    const { mis, inbound, outbound, requestId, executionId } = (event as unknown as { inputData: object })
      .inputData as Record<string, unknown>;
    expect(started?.workflowVersion).toBe(1);
    expect(started?.input).toMatchObject({ mis, inbound, outbound, requestId, executionId });
    expect(await logOf(source)).toMatchObject([{ cccid, sisPersonId: '0319375', executionId: source }]);
    await untilReconciled();
  });

  it('between mdmWF and mdm-shareWF: the interested college gets the cccid', async () => {
    const before = await metricOf('router_reconciled_total');
    const cccid = newCccid('R');
    let source = '';
    await withoutHandler('mdm-share-002', async () => {
      source = String((await patch(person('0318204'), { cccid })).headers['x-execution-id']);
      // If a busy engine handles the event late, a second mdmWF is started. The handler must not be restored before the
      // engine has taken the share event of that mdmWF too.
      await untilEventsTaken('college-adaptorWF:person_patched');
      await pollUntil('each mdmWF to have ended', async () => {
        // If a busy engine is slow to end an execution, the reconciler terminates and replaces the execution.
        const statuses = (await correlated('mdmWF', source)).map(({ status }) => status);
        return statuses.length > 0 && statuses.every((status) => status !== 'RUNNING');
      });
      await untilEventsTaken('mdmWF:mdm_share_002');
    });
    await untilNotified(source, ['notification recorded', 'share shared']);
    // A busy engine may take so long to publish the event that its task counts as stuck.
    await untilCounted(before, ['share_lost started', 'event_stuck started']);
    const there = await call(`${stack.backEndsUrl}/adaptors/002/mock/colleges/002/persons/B00417733`);
    expect(there.json()).toMatchObject({ cccid });
    await untilReconciled();
  });
});

// Only one router runs here: if a termination by one router overlaps with a retry by another, the engine can forget
// that the failed event was retried, and then the execution ends as FAILED.
describe('an event that cannot be published', () => {
  beforeAll(() => second.stop());
  afterAll(async () => {
    second = await startProgram('gateway/main.ts', stack.routerEnv);
  });

  it('is retried; then MDM is notified without the event, and the response stays available', async () => {
    const before = await metricOf('router_reconciled_total');
    const definition = (await engine('/metadata/workflow/college-adaptorWF?version=2')).json<{
      tasks: { decisionCases?: Record<string, Record<string, unknown>[]> }[];
    }>();
    // With a queue type that the engine does not support, the EVENT task fails, and its second attempt stays
    // IN_PROGRESS, as it does when the engine has been killed.
    Object.assign(definition.tasks[1]!.decisionCases!['PATCH']![0]!, {
      sink: 'nowhere:person_patched',
      optional: false,
    });
    const inbound = inboundOf('0320991', { cccid: newCccid('R') });
    const started = await engine('/workflow', 'POST', {
      name: 'college-adaptorWF',
      version: 2,
      workflowDef: definition,
      input: { inbound },
    });
    expect(started.status).toBe(200);
    await pollUntil('MDM to hear of the PATCH', async () =>
      (await kindsOf(started.text)).includes('notification recorded'),
    );
    await untilReconciled();
    await untilCounted(before, 'event_stuck retried');
    // Checks the state, because the metric misses a termination that the engine carries out after the router's timeout.
    let seen = '';
    const { tasks, reasonForIncompletion } = await pollUntil('the retried execution to be terminated', async () => {
      const execution = await read(started.text);
      const events = execution.tasks.filter(({ taskType }) => taskType === 'EVENT');
      seen = `${execution.status}, events ${events.map(({ status }) => status).join()}`;
      return execution.status === 'TERMINATED' && events.length > 1 ? execution : undefined;
    }).catch((error: Error) => {
      throw new Error(`${error.message}; ${seen}\n${findings()}`, { cause: error });
    });
    // On a busy machine, the engine may lose the reason, because it evaluates the execution while terminating it.
    expect(reasonForIncompletion).toMatch(
      /^reconciler: its event was not published$|^Task \S+ failed with status: TERMINATED and reason: 'null'$/,
    );
    const intakes = tasks.filter(({ referenceTaskName }) => referenceTaskName === 'college-adaptor_intake');
    expect(
      intakes.map(({ status }) => status),
      'the PATCH is not repeated',
    ).toEqual(['COMPLETED']);
    expect((await demo(`/executions/${started.text}`)).json()).toMatchObject({ state: 'completed' });
    expect(await demo(`/executions/${started.text}/response`)).toMatchObject({ status: 200 });
  });
});

function inboundOf(id: string, body: unknown) {
  return {
    httpMethod: 'PATCH',
    path: `/mock/colleges/001/persons/${id}`,
    params: { mis: '001' },
    headers: { 'content-type': 'application/json' },
    requestId: `reconciler-test-${id}`,
    clientId: 'demo',
    route: 'college-adaptor',
    body: JSON.stringify(body),
    bodyEncoding: 'text',
  };
}

it('notifies MDM of a PATCH that stayed paused because its router was killed while cancelling it', async () => {
  const before = await metricOf('router_reconciled_total');
  const cccid = newCccid('R');
  const domain = 'paused';
  const { text: source } = await engine('/workflow', 'POST', {
    name: 'college-adaptorWF',
    version: 2,
    input: { inbound: inboundOf('0323118', { cccid }) },
    taskToDomain: { '*': domain },
  });
  const polled = await engine(`/tasks/poll/batch/college-adaptor_intake?count=1&timeout=0&domain=${domain}`);
  const [task] = polled.json<Task[]>();
  expect(task?.workflowInstanceId).toBe(source);
  expect((await engine(`/workflow/${source}/pause`, 'PUT')).status).toBe(200);
  const body = Buffer.from(JSON.stringify({ sisPersonId: '0323118', cccid }));
  const reported = await engine('/tasks', 'POST', {
    taskId: task?.taskId,
    workflowInstanceId: source,
    status: 'COMPLETED',
    outputData: { outbound: createOutbound({ status: 200, headers: {}, body }) },
  });
  expect(reported.status).toBe(200);
  expect((await read(source)).status, 'the engine publishes no event for a paused execution').toBe('PAUSED');
  await pollUntil('MDM to hear of the PATCH', async () => (await kindsOf(source)).includes('notification recorded'));
  await untilReconciled();
  await untilCounted(before, 'event_stuck started');
  expect((await read(source)).status).toBe('TERMINATED');
});

it('the client of a PATCH gets the response even though a reconciler terminates the execution', async () => {
  // The workers report to the first router, so the second one sees only how the execution ends.
  const client = await callerFor(String(second.ready['url']));
  const requestId = randomUUID();
  const answered = client('/adaptor/001/mock/faults/slow/4000', {
    method: 'PATCH',
    // A busy machine may take longer than the default response deadline.
    headers: { 'x-request-id': requestId, prefer: 'wait=60' },
  });
  // Pauses the execution only after its task was taken, because a router hands out no task of a paused execution.
  await pollUntil('the back end to have the request', async () => {
    const faults = await call(`${stack.backEndsUrl}/adaptors/001/mock/faults`);
    return faults.json<{ open: number }>().open > 0;
  });
  const [{ workflowId: source } = { workflowId: '' }] = await correlated('college-adaptorWF', requestId);
  // A paused execution publishes no event, just like an execution whose engine was killed.
  expect((await engine(`/workflow/${source}/pause`, 'PUT')).status).toBe(200);
  expect(await answered).toMatchObject({ status: 200, text: '{"slept":4000}' });
  expect((await read(source)).reasonForIncompletion).toBe('reconciler: its event was not published');
  await untilReconciled();
});

it.each([
  ['mdmWF', 'mdm_notify'],
  ['mdm-shareWF', 'mdm_share'],
])('%s is retried when a reconciler was killed after terminating the execution', async (name, taskType) => {
  const before = await metricOf('router_reconciled_total');
  // No worker polls this domain.
  const taskToDomain = { '*': 'nobody' };
  const { text: id } = await engine('/workflow', 'POST', {
    name,
    version: 1,
    correlationId: randomUUID(),
    taskToDomain,
  });
  const end = (reason: string) => engine(`/workflow/${id}?${new URLSearchParams({ reason })}`, 'DELETE');
  await end('reconciler: its worker did not report in time');
  await pollUntil('the next attempt of the task', async () =>
    (await read(id)).tasks.some((task) => task.referenceTaskName === taskType && task.status === 'SCHEDULED'),
  );
  await untilCounted(before, 'outcome_unknown retried');
  await end('the test is over');
});

it('the engine refuses a retry with 404 while the execution runs, and with 409 when there is nothing to retry', async () => {
  const domain = 'retried';
  const { text: id } = await engine('/workflow', 'POST', {
    name: 'mdm-shareWF',
    version: 1,
    taskToDomain: { '*': domain },
  });
  const retry = async () => (await engine(`/workflow/${id}/retry`, 'POST')).status;
  expect(await retry()).toBe(404);
  const [task] = (await engine(`/tasks/poll/batch/mdm_share?count=1&timeout=0&domain=${domain}`)).json<Task[]>();
  await engine(`/workflow/${id}/pause`, 'PUT');
  const { taskId, workflowInstanceId } = task!;
  await engine('/tasks', 'POST', { taskId, workflowInstanceId, status: 'COMPLETED' });
  await engine(`/workflow/${id}?reason=test`, 'DELETE');
  expect(await retry()).toBe(409);
});

describe('a PATCH with an unknown outcome', () => {
  const domain = 'lost';

  /**
   * Takes the task of a PATCH, as a worker that never reports would, and terminates the execution. Returns the
   * execution id.
   */
  async function takeAndAbandon(cccid: string, applied: boolean): Promise<string> {
    const { text: source } = await engine('/workflow', 'POST', {
      name: 'college-adaptorWF',
      version: 2,
      input: { inbound: inboundOf('0101866', { cccid }) },
      taskToDomain: { '*': domain },
    });
    const polled = await engine(`/tasks/poll/batch/college-adaptor_intake?count=1&timeout=0&domain=${domain}`);
    expect(polled.json<Task[]>().map(({ workflowInstanceId }) => workflowInstanceId)).toEqual([source]);
    if (applied) {
      const answer = await call(`${stack.backEndsUrl}/adaptors/001/mock/colleges/001/persons/0101866`, {
        method: 'PATCH',
        headers: { 'idempotency-key': source },
        json: { cccid },
      });
      expect(answer.status).toBe(200);
    }
    expect((await engine(`/workflow/${source}?reason=test`, 'DELETE')).status).toBe(200);
    return source;
  }

  it('the back end is probed, and MDM is notified only of PATCHes that were applied', async () => {
    const before = await metricOf('router_reconciled_total');
    const cccid = newCccid('R');
    const applied = await takeAndAbandon(cccid, true);
    const lost = await takeAndAbandon(newCccid('R'), false);
    await pollUntil(
      'an unknown outcome to be counted',
      async () => ((await metricOf('router_events_unreconciled'))['outcome_unknown'] ?? 0) > 0,
    );
    const worker = await stack.addWorkers({ WORKERS_DOMAIN: domain });
    await untilNotified(applied, ['notification recorded', 'share shared']);
    expect(await logOf(applied)).toMatchObject([{ cccid, misCode: '001', sisPersonId: '0101866' }, { cccid }]);
    await untilCounted(before, 'outcome_unknown started');
    const key = await call(`${stack.backEndsUrl}/adaptors/001/mock/idempotency-keys/${applied}`);
    expect(key.json(), 'the PATCH itself is not repeated').toMatchObject({ received: 1, applied: 1 });

    await untilReconciled();
    await untilCounted(before, 'outcome_unknown asked', 1);
    const probes = await correlated('college-adaptorWF', lost);
    expect(probes.map(({ status }) => status)).toContain('COMPLETED');
    expect(await correlated('mdmWF', lost)).toEqual([]);
    expect(await kindsOf(lost)).toEqual([]);
    await worker.kill();
  });
});

describe('executions without a fault', () => {
  it('are left alone: nothing is counted, and no log line of the reconciler contains a personal value', async () => {
    const first = await patch(person('0319375'), { cccid: 'LEAVE01' });
    const source = String(first.headers['x-execution-id']);
    await untilNotified(source, ['notification recorded']);
    const before = await metricOf('router_reconciled_total');
    const rounds = (await metricOf('router_reconciler_rounds_total'))['done'] ?? 0;
    await pollUntil(
      'six more rounds',
      async () => ((await metricOf('router_reconciler_rounds_total'))['done'] ?? 0) >= rounds + 6,
    );
    expect(await metricOf('router_reconciled_total')).toEqual(before);
    const lines = [stack.router, second].flatMap((program) => program.output().split('\n'));
    expect(lines.filter((line) => line.includes('"reconcile finding"')).length).toBeGreaterThan(0);
    for (const value of ['LEAVE01', '0319375', '0318204', '0101866']) {
      expect(lines.filter((line) => line.includes('reconcil') && line.includes(value))).toEqual([]);
    }
  });
});
