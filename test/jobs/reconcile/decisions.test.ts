// Tests of the reconciler's decisions for each state of an execution, with the product's own definitions.

import { describe, expect, it, test } from 'vitest';
import { cancellationReason } from '#lib/conductor/executions/cancelled.ts';
import type { ExecutedTask, ExecutionSummary, WholeExecution } from '#lib/conductor/executions/execution.ts';
import { superseded } from '#lib/conductor/executions/superseded.ts';
import { createInbound } from '#lib/envelope/inbound.ts';
import { createOutbound } from '#lib/envelope/outbound.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { classify, collegeOf, interestedColleges } from '../../../jobs/reconcile/classify.ts';
import { decideNotification, decideShare } from '../../../jobs/reconcile/decide-notification.ts';
import { decideOther } from '../../../jobs/reconcile/decide-other.ts';
import { decidePatch } from '../../../jobs/reconcile/decide-patch.ts';
import { MdmDefinitions } from '../../../jobs/reconcile/mdm-definitions.ts';
import { definitionsFor } from '../../lib/conductor/definitions/copy-of-product.ts';
import { isProbe } from '../../../jobs/reconcile/probe.ts';
import { appliedChangeOf } from '../../../jobs/reconcile/applied-change.ts';
import { resolveTemplate } from '../../../jobs/reconcile/template.ts';

const key = `k1:${Buffer.alloc(32, 7).toString('base64')}`;
const mdmDefinitions = new MdmDefinitions(definitionsFor());
const clear = createPayloadCodec({ 'payload.key': undefined, 'payload.decryptionKeys': [] });
const sealing = createPayloadCodec({ 'payload.key': key, 'payload.decryptionKeys': [] });
const now = 1_795_275_400_000;
const longAgo = now - 70_000;
const justNow = now - 5_000;
const context = { mdmDefinitions, codec: clear, now, unchangedMs: 0, afterMs: 60_000 };
/** Returns the context of an inspection of an execution that has not changed for this many milliseconds. */
const after = (unchangedMs: number) => ({ ...context, unchangedMs });

const request = (body: string) => ({
  httpMethod: 'PATCH',
  path: '/mock/colleges/001/persons/p1',
  query: undefined,
  params: { mis: '001' },
  headers: {},
  body: Buffer.from(body),
  requestId: 'r-1',
  clientId: 'demo',
  route: 'adaptor',
});
const answer = (status: number, body = '{"sisPersonId":"p1","cccid":"C1"}') =>
  createOutbound({ status, headers: {}, body: Buffer.from(body) });

const intake = (fields: Partial<ExecutedTask> = {}): ExecutedTask => ({
  taskId: 't-1',
  taskType: 'college-adaptor_intake',
  referenceTaskName: 'college-adaptor_intake',
  status: 'COMPLETED',
  pollCount: 1,
  startTime: longAgo - 1_000,
  endTime: longAgo,
  outputData: { outbound: answer(200) },
  ...fields,
});
const event = (status: string, fields: Partial<ExecutedTask> = {}): ExecutedTask => ({
  taskId: 't-2',
  taskType: 'EVENT',
  referenceTaskName: 'person_patched',
  status,
  ...fields,
});
const patch = (fields: Partial<WholeExecution> = {}, body = '{"cccid":"C1"}'): WholeExecution => ({
  workflowId: 'e-1',
  workflowName: 'college-adaptorWF',
  workflowVersion: 2,
  status: 'COMPLETED',
  startTime: longAgo - 2_000,
  endTime: longAgo,
  input: { inbound: createInbound(request(body)) },
  output: {},
  tasks: [intake(), event('COMPLETED')],
  ...fields,
});
const alone = { notified: false, probes: [] };
const mdm = {
  name: 'mdmWF',
  version: 1,
  correlationId: 'e-1',
  taskToDomain: {},
  input: { mis: '001', requestId: 'r-1', executionId: 'e-1', outbound: answer(200) },
};

describe('a PATCH that has ended', () => {
  it('is settled when MDM was notified', () => {
    expect(decidePatch(patch(), { ...alone, notified: true }, context)).toEqual({ kind: 'settled' });
  });

  it('with 2xx but no MDM workflow → the MDM workflow is started with the input that its handler would give it', () => {
    expect(decidePatch(patch(), alone, context)).toMatchObject({ kind: 'start', case: 'event_lost', requests: [mdm] });
  });

  it('is judged by the last attempt of its task, in whatever order the engine lists the attempts', () => {
    const failed = intake({ taskId: 't-0', status: 'FAILED', retryCount: 0, retried: true, outputData: {} });
    const tasks = [intake({ retryCount: 1 }), failed, event('COMPLETED')];
    const decision = { kind: 'start', case: 'event_lost', requests: [mdm] };
    expect(decidePatch(patch({ tasks }), alone, context)).toMatchObject(decision);
    expect(decidePatch(patch({ tasks: tasks.toReversed() }), alone, context)).toMatchObject(decision);
  });

  it('waits during the grace period', () => {
    expect(decidePatch(patch({ endTime: justNow }), alone, context)).toEqual({ kind: 'waiting' });
  });

  test.each([300, 404, 500])('with %i → settled', (status) => {
    const tasks = [intake({ outputData: { outbound: answer(status) } }), event('COMPLETED')];
    expect(decidePatch(patch({ tasks }), alone, context)).toEqual({ kind: 'settled' });
  });

  it('terminated after its response → resumed, with a fallback; terminated again → the MDM workflow is started', () => {
    const once = patch({ status: 'TERMINATED', tasks: [intake(), event('CANCELED')] });
    expect(decidePatch(once, alone, context)).toMatchObject({ kind: 'resume', case: 'event_stuck', fallback: [mdm] });
    const twice = patch({ status: 'TERMINATED', tasks: [intake(), event('CANCELED'), event('CANCELED')] });
    expect(decidePatch(twice, alone, context)).toMatchObject({ kind: 'start', requests: [mdm] });
  });
});

describe('a running PATCH', () => {
  const running = (tasks: ExecutedTask[], fields: Partial<WholeExecution> = {}, unchangedMs = 0) =>
    decidePatch(patch({ status: 'RUNNING', endTime: 0, tasks, ...fields }), alone, after(unchangedMs));

  it('whose EVENT task stays scheduled → resumed; the second time → replaced by the MDM workflow', () => {
    expect(running([intake(), event('SCHEDULED')])).toMatchObject({ kind: 'resume', fallback: [mdm] });
    expect(running([intake(), event('CANCELED'), event('SCHEDULED')])).toMatchObject({
      kind: 'replace',
      case: 'event_stuck',
      requests: [mdm],
    });
  });

  it('is resumed after its response when no task is left', () => {
    expect(running([intake()])).toMatchObject({ kind: 'resume' });
  });

  it('whose EVENT was scheduled a moment ago, or whose task is queued or with a worker → waits', () => {
    expect(running([intake({ endTime: justNow }), event('SCHEDULED')])).toEqual({ kind: 'waiting' });
    expect(running([intake({ status: 'IN_PROGRESS', endTime: 0 })])).toEqual({ kind: 'waiting' });
    expect(running([intake({ status: 'SCHEDULED', pollCount: 0, startTime: 0, endTime: 0 })])).toEqual({
      kind: 'waiting',
    });
  });

  it('is terminated when its task should have timed out, and the next round decides what to do', () => {
    const held = (unchangedMs: number) =>
      running([intake({ status: 'IN_PROGRESS', endTime: 0, responseTimeoutSeconds: 90 })], {}, unchangedMs);
    expect(held(149_000)).toEqual({ kind: 'waiting' });
    expect(held(150_000)).toEqual({ kind: 'end', case: 'outcome_unknown' });
  });

  it('with a task that failed, timed out or was cancelled long ago → terminated; the next round decides', () => {
    for (const status of ['TIMED_OUT', 'FAILED', 'CANCELED']) {
      expect(running([intake({ status })])).toEqual({ kind: 'end', case: 'outcome_unknown' });
      expect(running([intake({ status, endTime: justNow })])).toEqual({ kind: 'waiting' });
    }
  });

  it('seen without a task for the grace period → terminated, whatever the clocks say', () => {
    const replaced = { kind: 'replace', case: 'never_scheduled', requests: [] };
    for (const startTime of [longAgo, justNow, now + 600_000]) {
      expect(running([], { startTime }, 60_000)).toEqual(replaced);
      expect(running([], { startTime }, 59_000)).toEqual({ kind: 'waiting' });
    }
  });

  it('without a task for longer than clock skew can explain → terminated when first seen', () => {
    const replaced = { kind: 'replace', case: 'never_scheduled', requests: [] };
    expect(running([], { startTime: now - 15 * 60_000 })).toEqual(replaced);
    expect(running([], { startTime: now - 14 * 60_000 })).toEqual({ kind: 'waiting' });
  });
});

describe('a PATCH with an unknown outcome', () => {
  const lost = (fields: Partial<ExecutedTask> = {}, body?: string) =>
    patch({ status: 'TIMED_OUT', tasks: [intake({ status: 'TIMED_OUT', outputData: {}, ...fields })] }, body);
  const probe = (status: number, body?: string, fields: Partial<WholeExecution> = {}) =>
    patch({
      workflowId: 'p-1',
      workflowVersion: 1,
      endTime: justNow,
      output: { outbound: answer(status, body) },
      ...fields,
    });
  const decideWith = (...probes: WholeExecution[]) => decidePatch(lost(), { ...alone, probes }, context);

  it('leads to a probe of the back end: a GET of the same resource, in the same task domain', () => {
    const execution = { ...lost(), taskToDomain: { '*': '002' } };
    const decision = decidePatch(execution, alone, context);
    expect(decision).toMatchObject({
      kind: 'ask',
      case: 'outcome_unknown',
      request: {
        name: 'college-adaptorWF',
        version: 1,
        correlationId: 'e-1',
        taskToDomain: { '*': '002' },
        input: { inbound: { httpMethod: 'GET', path: '/mock/colleges/001/persons/p1', params: { mis: '001' } } },
      },
    });
    if (decision.kind !== 'ask') throw new Error(decision.kind);
    const started = patch({ workflowVersion: 1, input: decision.request.input });
    expect([isProbe(started), isProbe(patch({ workflowVersion: 1 }))]).toEqual([true, false]);
  });

  it('whose probe hangs → the probe is ended; a probe that a worker has, or that waits for a worker, is not', () => {
    const decision = decidePatch(lost(), alone, context);
    if (decision.kind !== 'ask') throw new Error(decision.kind);
    const { input } = decision.request;
    const decideProbe = (fields: Partial<ExecutedTask>, unchangedMs = 0) => {
      const tasks = [intake({ endTime: 0, responseTimeoutSeconds: 90, ...fields })];
      const execution = patch({ status: 'RUNNING', endTime: 0, workflowVersion: 1, input, tasks });
      return decideOther(execution, after(unchangedMs));
    };
    const end = { kind: 'end', case: 'outcome_unknown' };
    expect(decideProbe({ status: 'IN_PROGRESS' }, 150_000)).toEqual(end);
    expect(decideProbe({ status: 'TIMED_OUT', endTime: longAgo })).toEqual(end);
    expect(decideProbe({ status: 'IN_PROGRESS' }, 149_000)).toEqual({ kind: 'waiting' });
    expect(decideProbe({ status: 'SCHEDULED', pollCount: 0, startTime: 0 })).toEqual({ kind: 'waiting' });
  });

  it('that no worker took, or whose worker sent no request → settled', () => {
    for (const fields of [
      { status: 'CANCELED', pollCount: 0, startTime: 0 },
      { status: 'FAILED', reasonForIncompletion: 'back-end-unreachable: no connection; nothing was changed' },
    ]) {
      expect(decidePatch(lost(fields), alone, context)).toEqual({ kind: 'settled' });
    }
  });

  it('superseded by another execution with its Idempotency-Key → settled: MDM is notified of that execution', () => {
    const ended = { ...lost({ status: 'CANCELED' }), status: 'TERMINATED', reasonForIncompletion: superseded } as const;
    expect(decidePatch(ended, alone, context)).toEqual({ kind: 'settled' });
  });

  it('cancelled by its client → settled even if a router has polled the task, as the router withholds it', () => {
    for (const lastRetriedTime of [0, longAgo]) {
      const reasonForIncompletion = cancellationReason({ lastRetriedTime });
      const ending = { status: 'TERMINATED', reasonForIncompletion, lastRetriedTime } as const;
      expect(decidePatch({ ...lost({ status: 'CANCELED' }), ...ending }, alone, context)).toEqual({ kind: 'settled' });
    }
  });

  it('resumed by another router, polled, then cancelled → probed, as a worker may have received the task', () => {
    const reasonForIncompletion = cancellationReason({});
    const ending = { status: 'TERMINATED', reasonForIncompletion, lastRetriedTime: longAgo } as const;
    expect(decidePatch({ ...lost({ status: 'CANCELED' }), ...ending }, alone, context).kind).toBe('ask');
    const unpolled = lost({ status: 'CANCELED', pollCount: 0, startTime: 0 });
    expect(decidePatch({ ...unpolled, ...ending }, alone, context)).toEqual({ kind: 'settled' });
  });

  it('whose worker reports that the change may have been applied → probed', () => {
    const reasonForIncompletion = 'back-end-timeout: no response within 20000 ms; the change may have been applied';
    expect(decidePatch(lost({ status: 'FAILED', reasonForIncompletion }), alone, context).kind).toBe('ask');
  });

  it('whose values are in the record → MDM is notified with the record and the time of the PATCH', () => {
    const record = '{"sisPersonId":"p1","cccid":"C1","lastName":"Doe"}';
    expect(decideWith(probe(200, record))).toMatchObject({
      kind: 'start',
      case: 'outcome_unknown',
      requests: [
        {
          ...mdm,
          input: {
            outbound: { statusCodeValue: 200, body: record, answeredAt: new Date(longAgo - 1_000).toISOString() },
          },
        },
      ],
    });
  });

  it('whose worker gave up → MDM gets the time of that failure, as the PATCH may have been applied until then', () => {
    const failed = lost({
      status: 'FAILED_WITH_TERMINAL_ERROR',
      reasonForIncompletion: 'back-end-timeout: no response',
    });
    const decision = decidePatch(failed, { ...alone, probes: [probe(200, '{"cccid":"C1"}')] }, context);
    const outbound = { answeredAt: new Date(longAgo).toISOString() };
    expect(decision).toMatchObject({ kind: 'start', requests: [{ input: { outbound } }] });
  });

  it('for which the condition of the handler depends on the lost response → MDM is notified', () => {
    const product = definitionsFor();
    const eventHandlers = product.eventHandlers.map((file) => ({
      ...file,
      definition: { ...file.definition, condition: '$.outbound?.statusCodeValue == 204' },
    }));
    const mdmDefinitions = new MdmDefinitions({ ...product, eventHandlers });
    const probes = [probe(200, '{"sisPersonId":"p1","cccid":"C1","lastName":"Doe"}')];
    expect(decidePatch(lost(), { ...alone, probes }, { ...context, mdmDefinitions }).kind).toBe('start');
  });

  it('whose record has other values or is gone → settled', () => {
    for (const found of [probe(200, '{"cccid":"C2"}'), probe(404, '{}'), probe(410, '{}')]) {
      expect(decideWith(found)).toEqual({ kind: 'settled' });
    }
  });

  it('whose back end rejects the GET or does not return an object → a person has to decide', () => {
    for (const found of [probe(405, '{}'), probe(200, '[1]'), probe(200, '<html>')]) {
      expect(decideWith(found)).toMatchObject({ kind: 'undecided', case: 'outcome_unknown' });
    }
  });

  it('whose back end is unavailable → probed again, after a pause that doubles each time', () => {
    const away = (endTime: number) => probe(503, '', { endTime });
    expect(decideWith(away(justNow)).kind).toBe('unanswered');
    expect(decideWith(away(longAgo)).kind).toBe('ask');
    expect(decideWith(away(longAgo), away(longAgo)).kind).toBe('unanswered');
    expect(decideWith(away(longAgo), away(now - 125_000)).kind).toBe('ask');
    expect(decideWith(probe(200, '', { status: 'RUNNING' })).kind).toBe('asked');
    expect(decideWith(probe(200, '', { status: 'FAILED', endTime: longAgo })).kind).toBe('ask');
  });

  it('that is encrypted → probe and notification are encrypted, each bound to its own execution', () => {
    const sealed = { ...context, codec: sealing };
    const inbound = sealing.packInbound(request('{"cccid":"C1"}'), ['mis']);
    const execution = { ...lost(), input: { inbound } };
    const ask = decidePatch(execution, alone, sealed);
    if (ask.kind !== 'ask') throw new Error(ask.kind);
    const asked = ask.request.input['inbound'];
    expect(JSON.stringify(asked)).not.toContain('persons');
    expect(sealing.unpackInbound(asked)).toMatchObject({ httpMethod: 'GET', path: '/mock/colleges/001/persons/p1' });
    const found = sealing.packOutbound(
      { status: 200, headers: {}, body: Buffer.from('{"cccid":"C1"}') },
      { inbound: asked, executionId: 'p-1' },
    );
    const probes = [probe(200, '', { output: { outbound: found } })];
    const told = decidePatch(execution, { ...alone, probes }, sealed);
    if (told.kind !== 'start') throw new Error(told.kind);
    const outbound = told.requests[0]!.input['outbound'];
    expect(JSON.stringify(outbound)).not.toContain('C1"');
    expect(sealing.unpackOutbound(outbound, 'e-1').body.toString()).toBe('{"cccid":"C1"}');
  });
});

describe('an mdmWF execution', () => {
  const system = (cccid: string) => ({ misCode: '002', sisPersonId: 'q1', cccid });
  const notify = (systems: object[], fields: Partial<ExecutedTask> = {}): ExecutedTask => ({
    taskId: 't-1',
    taskType: 'mdm_notify',
    referenceTaskName: 'mdm_notify',
    status: 'COMPLETED',
    endTime: longAgo,
    outputData: { interestedSystems: systems },
    ...fields,
  });
  const notification = (fields: Partial<WholeExecution> = {}): WholeExecution =>
    patch({
      workflowId: 'm-1',
      workflowName: 'mdmWF',
      workflowVersion: 1,
      correlationId: 'e-1',
      input: { mis: '001', requestId: 'r-1', executionId: 'e-1' },
      tasks: [notify([system('C1')])],
      ...fields,
    });
  const share = (cccid: string) => ({
    name: 'mdm-shareWF',
    version: 1,
    correlationId: 'e-1',
    taskToDomain: { mdm_share: '002' },
    input: { ...system(cccid), requestId: 'r-1', sourceExecutionId: 'e-1' },
  });
  const started = (cccid: string) =>
    patch({ workflowName: 'mdm-shareWF', input: { ...share(cccid).input, 'conductor.event.name': 'x' } });

  const unshared: WholeExecution[] = [];

  it('with a share for each system → settled; without one → the share is started as its handler would start it', () => {
    expect(decideNotification(notification(), [started('C1')], context)).toEqual({
      kind: 'settled',
    });
    const tasks = [notify([system('C1'), system('C2')])];
    expect(decideNotification(notification({ tasks }), [started('C1')], context)).toEqual({
      kind: 'start',
      case: 'share_lost',
      requests: [share('C2')],
    });
  });

  it('with a system that has no handler → settled, because its event waits in its queue', () => {
    const tasks = [notify([{ ...system('C1'), misCode: '777' }])];
    expect(decideNotification(notification({ tasks }), unshared, context)).toEqual({ kind: 'settled' });
  });

  it('that waits for MDM → waits; that gave up → settled', () => {
    const tasks = [notify([], { status: 'IN_PROGRESS', endTime: 0 })];
    expect(decideNotification(notification({ status: 'RUNNING', tasks }), unshared, context)).toEqual({
      kind: 'waiting',
    });
    const failed = notification({ status: 'FAILED', tasks: [notify([], { status: 'FAILED' })] });
    expect(decideNotification(failed, unshared, context)).toEqual({ kind: 'settled' });
  });

  it('whose worker has disappeared → resumed; the same for a share', () => {
    const tasks = [notify([], { status: 'IN_PROGRESS', endTime: 0, responseTimeoutSeconds: 60 })];
    const decision = { kind: 'resume', case: 'outcome_unknown', fallback: [{ name: 'mdmWF', correlationId: 'e-1' }] };
    const execution = notification({ status: 'RUNNING', tasks });
    expect(decideNotification(execution, unshared, after(120_000))).toMatchObject(decision);
    expect(decideShare(execution, after(120_000))).toMatchObject(decision);
  });

  it('that keeps running although its task ended without success long ago → resumed; the same for a share', () => {
    const tasks = [notify([], { status: 'TIMED_OUT' })];
    const execution = notification({ status: 'RUNNING', tasks });
    const decision = { kind: 'resume', case: 'outcome_unknown', fallback: [{ name: 'mdmWF', correlationId: 'e-1' }] };
    expect(decideNotification(execution, unshared, context)).toMatchObject(decision);
    expect(decideShare(execution, context)).toMatchObject(decision);
  });

  describe('that was terminated', () => {
    const terminated = (reasonForIncompletion: string) =>
      notification({ status: 'TERMINATED', reasonForIncompletion, tasks: [notify([], { status: 'CANCELED' })] });
    const interrupted = terminated('reconciler: its worker did not report in time');
    const decision = { kind: 'resume', case: 'outcome_unknown', fallback: [{ name: 'mdmWF', correlationId: 'e-1' }] };

    it('by a reconciler that was killed before the retry → resumed; the same for a share', () => {
      expect(decideNotification(interrupted, unshared, context)).toMatchObject(decision);
      expect(decideShare(interrupted, context)).toMatchObject(decision);
    });

    it('for a reason that was lost → resumed, as a reconciler may have terminated it; the same for a share', () => {
      const unknown = terminated("Task 6a55d23a-db7b failed with status: TERMINATED and reason: 'null'");
      expect(decideNotification(unknown, unshared, context)).toMatchObject(decision);
      expect(decideShare(unknown, context)).toMatchObject(decision);
    });

    it('by an operator → settled; the same for a share', () => {
      expect(decideNotification(terminated('not wanted'), unshared, context)).toEqual({ kind: 'settled' });
      expect(decideShare(terminated('not wanted'), context)).toEqual({ kind: 'settled' });
    });
  });

  describe('whose task was marked as retried', () => {
    const given = notify([], { status: 'TIMED_OUT', retryCount: 0, retried: true });
    const next = notify([], { status: 'IN_PROGRESS', retryCount: 1, startTime: justNow, endTime: 0 });
    const lost = { kind: 'resume', case: 'never_retried', fallback: [{ name: 'mdmWF', correlationId: 'e-1' }] };

    it.each(['RUNNING', 'COMPLETED'] as const)(
      '%s, without a next attempt → retried; the same for a share',
      (status) => {
        const execution = notification({ status, tasks: [given] });
        expect(decideNotification(execution, unshared, context)).toMatchObject(lost);
        expect(decideShare(execution, context)).toMatchObject(lost);
      },
    );

    it('a moment ago → waits', () => {
      const tasks = [{ ...given, endTime: justNow }];
      expect(decideNotification(notification({ status: 'RUNNING', tasks }), unshared, context)).toEqual({
        kind: 'waiting',
      });
    });

    it.each([
      ['first', [given, next]],
      ['last', [next, given]],
    ])('with a next attempt, and the earlier attempt listed %s → waits', (_order, tasks) => {
      expect(decideNotification(notification({ status: 'RUNNING', tasks }), unshared, context)).toEqual({
        kind: 'waiting',
      });
    });

    it.each([
      ['GET', { kind: 'resume', case: 'never_retried', fallback: [] }],
      ['PUT', { kind: 'end', case: 'never_retried' }],
    ])('a %s of a client in the same state → %j', (httpMethod, decision) => {
      const execution = notification({ status: 'RUNNING', tasks: [given], input: { inbound: { httpMethod } } });
      expect(decideOther(execution, context)).toEqual(decision);
    });
  });

  it('stuck at its EVENT task → resumed, then replaced', () => {
    const stuck = (...events: ExecutedTask[]) =>
      decideNotification(
        notification({ status: 'RUNNING', tasks: [notify([system('C1')]), ...events] }),
        unshared,
        context,
      );
    expect(stuck(event('SCHEDULED'))).toEqual({ kind: 'resume', case: 'event_stuck', fallback: [share('C1')] });
    expect(stuck(event('CANCELED'), event('SCHEDULED'))).toMatchObject({ kind: 'replace', requests: [share('C1')] });
  });

  it('that never got a task → a replacement is started, then the original is terminated; the same for a share', () => {
    const empty = notification({ status: 'RUNNING', tasks: [] });
    const request = { name: 'mdmWF', version: 1, correlationId: 'e-1', taskToDomain: {}, input: empty.input };
    const replaced = { kind: 'replace', case: 'never_scheduled', requests: [request] };
    expect(decideNotification(empty, unshared, after(60_000))).toEqual(replaced);
    expect(decideShare(empty, after(60_000))).toEqual(replaced);
    expect(decideNotification(empty, unshared, context)).toEqual({ kind: 'waiting' });
    expect(decideShare(empty, context)).toEqual({ kind: 'waiting' });
    expect(decideShare(notification(), context)).toEqual({ kind: 'settled' });
  });
});

describe('a row of the index', () => {
  const row = (fields: Partial<ExecutionSummary>): ExecutionSummary => ({
    workflowId: 'e-1',
    workflowType: 'college-adaptorWF',
    version: 2,
    status: 'COMPLETED',
    startTime: '2026-11-21T15:36:41.605Z',
    input: '{inbound={httpMethod=PATCH, path=/x}}',
    output: '{outbound={statusCodeValue=200, headers={}}}',
    ...fields,
  });
  const text = (httpMethod: string) => `{inbound={httpMethod=${httpMethod}, path=/x, body=httpMethod=PATCH}}`;

  test.each([
    ['a PATCH with 2xx', {}, 'patch'],
    ['a PATCH with its input as JSON', { input: '{"inbound":{"httpMethod":"PATCH"}}' }, 'patch'],
    ['a PATCH with 404', { output: '{outbound={statusCodeValue=404, body=statusCodeValue=200}}' }, null],
    ['a PATCH that failed', { status: 'FAILED', output: '{}' }, 'patch'],
    ['a GET', { input: text('GET') }, null],
    ['a running GET', { input: text('GET'), status: 'RUNNING' }, 'other'],
    ['an input that cannot be read', { input: '?' }, 'patch'],
    ['a version without an event', { version: 1 }, null],
    ['a version that is not among the definitions', { version: 99 }, 'patch'],
    [
      'mdmWF without interested systems',
      { workflowType: 'mdmWF', output: '{notificationId=1, interestedSystems=[]}' },
      null,
    ],
    [
      'mdmWF with an interested system',
      { workflowType: 'mdmWF', version: 1, output: '{interestedSystems=[{misCode=002}]}' },
      'notification',
    ],
    ['a share that has ended', { workflowType: 'mdm-shareWF' }, null],
    ['a running share', { workflowType: 'mdm-shareWF', status: 'RUNNING' }, 'share'],
    ['another workflow', { workflowType: 'moviesWF' }, null],
  ] as [string, Partial<ExecutionSummary>, string | null][])('%s → %s', (_name, fields, kind) => {
    expect(classify(row(fields), mdmDefinitions)).toBe(kind);
  });

  test.each([
    ['{notificationId=1, interestedSystems=[{misCode=002, sisPersonId=q}, {misCode=003}]}', ['002', '003']],
    ['{"interestedSystems":[{"misCode":"002"}]}', ['002']],
    ['{notificationId=1}', []],
    ['{interestedSystems=[{misCode=002, sisPersonId=q}, {misCode=002, sisPersonId=r}]}', undefined],
    ['{interestedSystems=[{misCode=002}, {misCo…', undefined],
  ])('of mdmWF with %s names the colleges %j', (output, colleges) => {
    expect(interestedColleges(row({ output }))).toEqual(colleges);
  });

  test.each([
    ['{misCode=002, cccid=C1}', '002'],
    ['{cccid=misCode=003, misCode=002}', undefined],
    ['{}', undefined],
  ])('of a share with the input %s is for the college %s', (input, college) => {
    expect(collegeOf(row({ input }))).toBe(college);
  });
});

describe('whether a change was applied', () => {
  test.each([
    ['{"cccid":"A"}', '{"cccid":"A","x":1}', 'all'],
    ['{"cccid":"A","x":2}', '{"cccid":"A","x":1}', 'some'],
    ['{"cccid":"A"}', '{"cccid":"B"}', 'none'],
    ['{"a":{"b":1}}', '{"a":{"b":1,"c":2}}', 'all'],
    ['{"a":[1,2]}', '{"a":[1,2]}', 'all'],
    ['{"a":[1,2]}', '{"a":[2,1]}', 'none'],
    ['{"a":null}', '{}', 'all'],
    ['{"a":null}', '{"a":null}', 'all'],
    ['{"a":null}', '{"a":1}', 'none'],
    ['{"id":12345678901234567890}', '{"id":12345678901234567891}', 'none'],
    ['{"id":"1"}', '{"id":1}', 'none'],
    ['{}', '{}', 'unclear'],
    ['[]', '{}', 'unclear'],
    ['{"a":1}', 'none', 'unclear'],
  ])('the change %s and the record %s → %s', (wanted, record, standing) => {
    expect(appliedChangeOf(Buffer.from(wanted), Buffer.from(record))).toBe(standing);
  });
});

it('templates: a lone expression keeps its type, an expression in text becomes text, an unknown name is null', () => {
  const scope = { a: { b: { c: [1] } }, n: 7 };
  expect(resolveTemplate({ x: '${a.b}', y: '${a.z.c}', z: 'n=${n}', u: [true, '${a.b.c}'] }, scope)).toEqual({
    x: { c: [1] },
    y: null,
    z: 'n=7',
    u: [true, [1]],
  });
});
