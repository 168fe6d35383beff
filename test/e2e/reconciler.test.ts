// What the engine drops between a PATCH and MDM is found and repaired, by two routers at once that know nothing of each other.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOutbound } from '#lib/envelope/outbound.ts';
import { call, type Caller, callerFor } from '../stack/client.ts';
import type { EngineExecution } from '../stack/engine-execution.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { type Program, startProgram } from '../stack/program.ts';
import { shareStack } from '../stack/shared-stack.ts';
import type { Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';
import { newCccid } from '../stack/new-cccid.ts';
import { lostEventsOf } from './lost-events.ts';

/** Thresholds that make a round worth waiting for; the way is the same. */
const reconciler = {
  RECONCILER_INTERVALMS: '500',
  RECONCILER_AFTERMS: '1500',
  // Older executions are those of other suites.
  RECONCILER_LOOKBACKSECONDS: '2',
};

let stack: Stack;
let second: Program;
let demo: Caller;

/** Longer than the look-back: what other suites did before is none of these routers' business. */
const pastMs = 4_000;

beforeAll(async () => {
  const startedAt = performance.now();
  await pollUntil('other suites to be past', () => performance.now() - startedAt > pastMs);
  stack = await shareStack({ engineUrl: engineOfRun().url, router: reconciler });
  second = await startProgram('gateway/main.ts', stack.routerEnv);
  demo = await callerFor(stack.url);
});
afterAll(async () => {
  await second?.stop();
  await stack?.stop();
});

const engine = (path: string, method = 'GET', body?: unknown) =>
  call(`${engineOfRun().url}/api${path}`, {
    method,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
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

/** What both routers' reconcilers did so far, and what is still missing. */
async function metricOf(name: string): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const { ready } of [stack.router, second]) {
    const { text } = await call(`${ready['operationsUrl']}/metrics`);
    for (const [, labels = '', value] of text.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\d+)$`, 'gm'))) {
      const label = [...labels.matchAll(/"([^"]*)"/g)].map(([, text]) => text).join(' ');
      sums[label] = (sums[label] ?? 0) + Number(value);
    }
  }
  return sums;
}

/** How often one case has been acted on since `before`. */
async function actions(before: Record<string, number>, label: string): Promise<number> {
  return ((await metricOf('router_reconciled_total'))[label] ?? 0) - (before[label] ?? 0);
}

const person = (id: string) => `/adaptor/001/mock/colleges/001/persons/${id}`;
const patch = (path: string, body: unknown, caller = demo) =>
  caller(path, { method: 'PATCH', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

const { withoutHandler, untilEventsTaken } = lostEventsOf(engineOfRun());

const untilNotified = (source: string, entries: string[]) =>
  pollUntil(`MDM to hear of ${source}`, async () => (await kindsOf(source)).length === entries.length, {
    timeoutMs: 15_000,
  }).then(async () => expect(await kindsOf(source)).toEqual(entries));

const untilReconciled = () =>
  pollUntil(
    'nothing to be missing',
    async () => Object.values(await metricOf('router_events_unreconciled')).every((count) => count === 0),
    { timeoutMs: 15_000 },
  );

describe('an event that the engine drops', () => {
  it('after a PATCH: MDM is told as the handler would have, once in effect', async () => {
    const before = await metricOf('router_reconciled_total');
    const cccid = newCccid('R');
    let source = '';
    await withoutHandler('mdm', async () => {
      const answer = await patch(person('0319375'), { cccid });
      expect(answer.status).toBe(200);
      source = String(answer.headers['x-execution-id']);
      await untilEventsTaken('college-adaptorWF:person_patched');
    });
    await untilNotified(source, ['notification recorded']);
    expect(await actions(before, 'event_lost started')).toBeGreaterThan(0);

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
      await pollUntil(
        'mdmWF to have ended',
        async () => (await correlated('mdmWF', source)).some(({ status }) => status === 'COMPLETED'),
        { timeoutMs: 15_000 },
      );
      await untilEventsTaken('mdmWF:mdm_share_002');
    });
    await untilNotified(source, ['notification recorded', 'share shared']);
    expect(await actions(before, 'share_lost started')).toBeGreaterThan(0);
    const there = await call(`${stack.backEndsUrl}/adaptors/002/mock/colleges/002/persons/B00417733`);
    expect(there.json()).toMatchObject({ cccid });
    await untilReconciled();
  });

  it('that cannot be published: the engine is asked to try again, then MDM is told without it', async () => {
    const before = await metricOf('router_reconciled_total');
    const definition = (await engine('/metadata/workflow/college-adaptorWF?version=2')).json<{
      tasks: { decisionCases?: Record<string, Record<string, unknown>[]> }[];
    }>();
    // With a queue that the engine does not have, the EVENT stays SCHEDULED, as a killed engine leaves it.
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
    await pollUntil('MDM to hear of it', async () => (await kindsOf(started.text)).includes('notification recorded'), {
      timeoutMs: 15_000,
    });
    await untilReconciled();
    expect(await actions(before, 'event_stuck retried')).toBeGreaterThan(0);
    expect(await actions(before, 'event_stuck terminated')).toBeGreaterThan(0);
    const { tasks, status } = await read(started.text);
    expect(status).toBe('TERMINATED');
    const intakes = tasks.filter(({ referenceTaskName }) => referenceTaskName === 'college-adaptor_intake');
    expect(
      intakes.map(({ status }) => status),
      'the PATCH is not repeated',
    ).toEqual(['COMPLETED']);
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

it('tells MDM of a PATCH that stayed paused, as a router killed while cancelling leaves it', async () => {
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
  await pollUntil('MDM to hear of it', async () => (await kindsOf(source)).includes('notification recorded'), {
    timeoutMs: 15_000,
  });
  await untilReconciled();
  expect(await actions(before, 'event_stuck started')).toBeGreaterThan(0);
  expect((await read(source)).status).toBe('TERMINATED');
});

describe('a PATCH whose outcome nobody knows', () => {
  const domain = 'lost';

  /** A worker that takes the task of one PATCH and never reports; the execution is ended behind its back. */
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
        headers: { 'content-type': 'application/json', 'idempotency-key': source },
        body: JSON.stringify({ cccid }),
      });
      expect(answer.status).toBe(200);
    }
    expect((await engine(`/workflow/${source}?reason=test`, 'DELETE')).status).toBe(200);
    return source;
  }

  it('the back end is asked: MDM is told of what was applied, and not of what was not', async () => {
    const before = await metricOf('router_reconciled_total');
    const cccid = newCccid('R');
    const applied = await takeAndAbandon(cccid, true);
    const lost = await takeAndAbandon(newCccid('R'), false);
    await pollUntil(
      'an unknown outcome',
      async () => ((await metricOf('router_events_unreconciled'))['outcome_unknown'] ?? 0) > 0,
    );
    const worker = await stack.addWorkers({ WORKERS_DOMAIN: domain });
    await untilNotified(applied, ['notification recorded', 'share shared']);
    expect(await logOf(applied)).toMatchObject([{ cccid, misCode: '001', sisPersonId: '0101866' }, { cccid }]);
    expect(await actions(before, 'outcome_unknown started')).toBeGreaterThan(0);
    const key = await call(`${stack.backEndsUrl}/adaptors/001/mock/idempotency-keys/${applied}`);
    expect(key.json(), 'the PATCH itself is not repeated').toMatchObject({ received: 1, applied: 1 });

    await untilReconciled();
    expect(await actions(before, 'outcome_unknown asked')).toBeGreaterThan(1);
    const probes = await correlated('college-adaptorWF', lost);
    expect(probes.map(({ status }) => status)).toContain('COMPLETED');
    expect(await correlated('mdmWF', lost)).toEqual([]);
    expect(await kindsOf(lost)).toEqual([]);
    await worker.kill();
  });
});

describe('what is as it should be', () => {
  it('is left alone: no second MDM workflow, nothing counted, no value of a person in a log', async () => {
    const first = await patch(person('0319375'), { cccid: 'LEAVE01' });
    const source = String(first.headers['x-execution-id']);
    await untilNotified(source, ['notification recorded']);
    const before = await metricOf('router_reconciled_total');
    const rounds = (await metricOf('router_reconciler_rounds_total'))['done'] ?? 0;
    await pollUntil(
      'six more rounds',
      async () => ((await metricOf('router_reconciler_rounds_total'))['done'] ?? 0) >= rounds + 6,
      { timeoutMs: 15_000 },
    );
    expect(await metricOf('router_reconciled_total')).toEqual(before);
    const lines = [stack.router, second].flatMap((program) => program.output().split('\n'));
    expect(lines.filter((line) => line.includes('"reconciled"')).length).toBeGreaterThan(0);
    for (const value of ['LEAVE01', '0319375', '0318204', '0101866']) {
      expect(lines.filter((line) => line.includes('reconcil') && line.includes(value))).toEqual([]);
    }
  });
});
