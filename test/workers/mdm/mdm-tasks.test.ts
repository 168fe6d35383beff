// Tests of mdm_notify and mdm_share with a fake MDM and a fake adaptor.

import { createHash } from 'node:crypto';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Task } from '#lib/conductor/types.ts';
import { createOutbound } from '#lib/envelope/outbound.ts';
import { type CallBackEnd, createBackEndCaller } from '../../../workers/back-end/call-back-end.ts';
import { createMdmNotify } from '../../../workers/mdm_notify.ts';
import { createMdmShare } from '../../../workers/mdm_share.ts';
import type { TaskOutcome } from '../../../workers/worker.ts';
import { type RawBackEnd, startRawBackEnd } from '../raw-back-end.ts';
import { configOf, inboundOf } from '../started-workers.ts';

/** Responses by path prefix, as `[status, body]`. Requests to other paths get a connection reset. */
let replies: Record<string, [number, unknown] | null>;
/** Request body that gets a 422, whatever the path. */
let rejected: string | undefined;
let other: RawBackEnd;
let caller: ReturnType<typeof createBackEndCaller>;

beforeEach(async () => {
  replies = {};
  rejected = undefined;
  other = await startRawBackEnd((socket, request) => {
    const path = request.split(' ')[1] ?? '';
    const reply = Object.entries(replies).find(([prefix]) => path.startsWith(prefix))?.[1];
    if (!reply) return socket.resetAndDestroy();
    const body = typeof reply[1] === 'string' ? reply[1] : JSON.stringify(reply[1]);
    const status = request.split('\r\n\r\n')[1] === rejected ? 422 : reply[0];
    return socket.write(`HTTP/1.1 ${status} X\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  });
  caller = createBackEndCaller({ timeoutMs: 60_000, maxResponseBytes: 100_000 });
});
afterEach(async () => {
  caller.close();
  await other.stop();
});

const taskOf = (inputData: Record<string, unknown>, more: Partial<Task> = {}): Task => ({
  taskId: 'task-1',
  taskType: 'SIMPLE',
  taskDefName: 'x',
  referenceTaskName: 'x',
  workflowInstanceId: 'mdm-execution-1',
  pollCount: 1,
  scheduledTime: Date.now(),
  inputData,
  ...more,
});
/** Encodings in which some clients and adaptors send JSON, with the headers of each. */
const encodings: [string, (text: string) => Buffer, Record<string, string>][] = [
  ['gzip', (text) => gzipSync(text), { 'content-encoding': 'gzip' }],
  ['brotli', (text) => brotliCompressSync(text), { 'content-encoding': 'br' }],
  ['deflate and gzip', (text) => gzipSync(deflateSync(text)), { 'content-encoding': 'deflate, gzip' }],
  ['a byte order mark', (text) => Buffer.from(`\ufeff${text}`), {}],
];
const bodyOf = (request: string | undefined): unknown => JSON.parse(request?.split('\r\n\r\n')[1] ?? '');
const dependencies = async (values: Record<string, string | number> = {}) => ({
  config: await configOf({ 'mdm.url': `${other.url}/mdm`, 'adaptor.002.url': `${other.url}/two`, ...values }),
  callBackEnd: caller.call,
});

interface Patch {
  path?: string;
  sent?: unknown;
  status?: number;
  answered?: string;
}

function notifyInput({ path = '/mock/colleges/001/persons/p%201', sent = {}, status = 200, answered = '' }: Patch) {
  const request = { httpMethod: 'PATCH', path, headers: { 'content-type': 'application/json' } };
  const body = Buffer.from(typeof sent === 'string' ? sent : JSON.stringify(sent));
  return {
    mis: '001',
    ...inboundOf({ ...request, body, requestId: 'r-1' }),
    outbound: createOutbound({ status, headers: {}, body: Buffer.from(answered) }),
    requestId: 'r-1',
    executionId: 'execution-1',
  };
}

async function notify(patch: Patch, more: Partial<Task> = {}, values: Record<string, string | number> = {}) {
  const { execute } = createMdmNotify(await dependencies(values));
  return execute(taskOf(notifyInput(patch), more));
}

const shareInput = {
  misCode: '002',
  sisPersonId: 'q/2',
  cccid: 'CCC1',
  sourceExecutionId: 'execution-1',
  requestId: 'r-1',
};
async function share(more: Partial<Task> = {}, values: Record<string, string | number> = {}): Promise<TaskOutcome> {
  const { execute } = createMdmShare(await dependencies(values));
  return execute(taskOf(shareInput, more));
}

/** Texts that are valid in JSON, but that the engine cannot store or would change. */
const hardTexts: [string, string][] = [
  ['an expression', 'A${workflow.input.inbound.clientId}B\\'],
  ['an unclosed expression', '${workflow.secrets.X'],
  ['NUL', 'A\0B'],
  ['a lone surrogate', 'A\ud800"'],
];

describe('mdm_notify', () => {
  test('notifies MDM of person, college, request and execution, and returns the interested systems', async () => {
    const interestedSystems = [{ misCode: '002', sisPersonId: 'q2', cccid: 'CCC1', extra: true }];
    replies['/mdm/notifications'] = [200, { notificationId: 'n-1', interestedSystems }];
    const sent = '{ "cccid": "CCC1" }';
    const outcome = await notify({ sent, answered: '{"sisPersonId":"p1","cccid":"CCC1","lastName":"Doe"}' });
    expect(outcome).toEqual({
      status: 'COMPLETED',
      outputData: { notificationId: 'n-1', interestedSystems: [{ misCode: '002', sisPersonId: 'q2', cccid: 'CCC1' }] },
    });
    expect(other.requests[0]).toMatch(/^POST \/mdm\/notifications HTTP\/1\.1\r\n/);
    expect(other.requests[0]).toMatch(/\r\nidempotency-key: execution-1\r\n/i);
    expect(bodyOf(other.requests[0])).toEqual({
      misCode: '001',
      sisPersonId: 'p1',
      cccid: 'CCC1',
      requestId: 'r-1',
      executionId: 'execution-1',
      request: {
        httpMethod: 'PATCH',
        path: '/mock/colleges/001/persons/p%201',
        contentType: 'application/json',
        body: sent,
      },
    });
  });

  test.each<[string, Patch, object]>([
    ['a response without a record', { status: 204, sent: { cccid: 'C2' } }, { sisPersonId: 'p 1', cccid: 'C2' }],
    ['a response that is not JSON', { answered: '<ok/>', sent: { cccid: 'C2' } }, { sisPersonId: 'p 1', cccid: 'C2' }],
    ['a response that is a list', { answered: '[{"sisPersonId":"x"}]', sent: {} }, { sisPersonId: 'p 1' }],
    ['a broken escape in the path', { path: '/persons/%E0%A4%A', sent: {} }, { sisPersonId: '%E0%A4%A' }],
    [
      'a path without a person',
      { path: '/x', sent: { sisPersonId: 'p9', cccid: 'C' } },
      { sisPersonId: 'p9', cccid: 'C' },
    ],
    [
      'person keys that are numbers with more digits than a double can hold',
      { answered: '{"sisPersonId":12345678901234567890,"cccid":1e2}' },
      { sisPersonId: '12345678901234567890', cccid: '1e2' },
    ],
  ])('%s → the person is still identified', async (_label, patch, person) => {
    replies['/mdm'] = [200, { notificationId: 'n' }];
    const outcome = await notify(patch);
    expect(bodyOf(other.requests[0])).toMatchObject(person);
    if (!('cccid' in person)) expect(bodyOf(other.requests[0])).not.toHaveProperty('cccid');
    expect(outcome).toMatchObject({ status: 'COMPLETED', outputData: { interestedSystems: [] } });
  });

  test('no person is named → completed with nothing to share, and MDM is not called', async () => {
    expect(await notify({ path: '/x', sent: 'text' })).toEqual({
      status: 'COMPLETED',
      outputData: {
        notificationId: null,
        interestedSystems: [],
        reason: 'nothing to share: neither the response nor the request names a person',
      },
    });
    expect(other.requests).toHaveLength(0);
  });

  test.each(hardTexts)(
    'a cccid with %s → passed to the share in a form that the engine does not change',
    async (_label, text) => {
      replies['/mdm/notifications'] = [
        200,
        { notificationId: text, interestedSystems: [{ misCode: '002', sisPersonId: 'q2' }] },
      ];
      const outcome = await notify({ sent: JSON.stringify({ cccid: text }) });
      expect(bodyOf(other.requests[0])).toMatchObject({ cccid: text });
      expect(outcome.status).toBe('COMPLETED');
      const output = JSON.stringify(outcome.outputData);
      expect(output).not.toContain('${');
      expect(output).not.toMatch(/(?<!\\)(?:\\\\)*\\u(?:0000|[dD][89a-fA-F])/);

      const [system] = outcome.outputData!['interestedSystems'] as object[];
      replies['/two'] = [200, {}];
      replies['/mdm/shares'] = [201, {}];
      const { execute } = createMdmShare(await dependencies());
      other.requests.length = 0;
      expect(await execute(taskOf({ ...shareInput, ...system }))).toMatchObject({ status: 'COMPLETED' });
      expect(other.requests.map(bodyOf)).toMatchObject([{ cccid: text }, { cccid: text, status: 'shared' }]);
    },
  );

  test('sends a person key from MDM unchanged in the path of the share, even when it contains an expression', async () => {
    const sisPersonId = '${workflow.secrets.X}\0';
    replies['/mdm/notifications'] = [200, { interestedSystems: [{ misCode: '002', sisPersonId, cccid: 'c' }] }];
    const outcome = await notify({});
    const [system] = outcome.outputData!['interestedSystems'] as object[];
    replies['/'] = [200, {}];
    const { execute } = createMdmShare(await dependencies());
    await execute(taskOf({ ...shareInput, ...system }));
    expect(other.requests[1]).toContain(`/persons/${encodeURIComponent(sisPersonId)} HTTP`);
  });

  test.each([500, 502, 503, 429, 408])(
    'MDM responds with %i → in progress, with the reason in the output',
    async (status) => {
      replies['/mdm'] = [status, {}];
      expect(await notify({})).toMatchObject({
        status: 'IN_PROGRESS',
        outputData: { waitingFor: `MDM responded with status ${status}`, tries: 1 },
      });
      expect(other.requests).toHaveLength(1);
    },
  );

  test('MDM is unreachable → in progress, without an address in the reason', async () => {
    expect(await notify({})).toMatchObject({
      status: 'IN_PROGRESS',
      outputData: { waitingFor: 'MDM is unavailable: back-end-bad-answer' },
    });
    const nowhere = await notify({}, {}, { 'mdm.url': 'http://127.0.0.1:9' });
    expect(nowhere).toMatchObject({
      status: 'IN_PROGRESS',
      outputData: { waitingFor: 'MDM is unavailable: back-end-unreachable' },
    });
  });

  test.each([400, 401, 404, 409, 422, 302])(
    'MDM responds with %i → fails permanently at once, with the status in the reason',
    async (status) => {
      replies['/mdm'] = [status, {}];
      await expect(notify({})).rejects.toMatchObject({
        name: 'TaskFailure',
        message: `MDM rejected the request with status ${status}`,
      });
    },
  );

  test.each([
    [[{ misCode: '../1', sisPersonId: 'x', cccid: 'c' }]],
    [[{ misCode: '002', cccid: 'c' }]],
    [[{ misCode: '002', sisPersonId: '\ud800', cccid: 'c' }]],
    [[{ misCode: '002', sisPersonId: 'x', cccid: '' }]],
    [[null]],
    ['all'],
  ])('MDM names unusable systems (%j) → nothing is shared, and the task is retried', async (interestedSystems) => {
    replies['/mdm'] = [200, { notificationId: 'n', interestedSystems }];
    expect(await notify({ sent: { cccid: 'c' } })).toMatchObject({ status: 'IN_PROGRESS' });
  });
});

describe('the pause between tries', () => {
  test('doubles with each poll, with jitter, up to mdm.retryMaxDelaySeconds', async () => {
    replies['/mdm'] = [503, {}];
    const pauses: number[] = [];
    for (const pollCount of [1, 2, 3, 4, 5, 12, 4_000]) {
      const outcome = await notify({}, { pollCount }, { 'mdm.retryMaxDelaySeconds': 60 });
      pauses.push(outcome.status === 'IN_PROGRESS' ? outcome.callbackAfterSeconds : Number.NaN);
    }
    const ceilings = [2, 4, 8, 16, 32, 60, 60];
    pauses.forEach((pause, index) => {
      expect(Number.isInteger(pause)).toBe(true);
      expect(pause).toBeGreaterThanOrEqual((ceilings[index] ?? 0) / 2);
      expect(pause).toBeLessThanOrEqual(ceilings[index] ?? 0);
    });
  });

  test('never exceeds the window, after which the task fails with the reason and the time spent', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    replies['/mdm'] = [503, {}];
    const values = { 'mdm.retryWindowSeconds': 100 };
    const late = { pollCount: 20, scheduledTime: Date.now() - 95_000 };
    const last = await notify({}, late, values);
    expect(last.status === 'IN_PROGRESS' && last.callbackAfterSeconds).toBeLessThanOrEqual(5);
    await expect(notify({}, { ...late, scheduledTime: Date.now() - 101_000 }, values)).rejects.toMatchObject({
      name: 'TaskFailure',
      message: 'MDM responded with status 503; tried for 100 s',
    });
  });

  test('the window does not restart when the engine changes `scheduledTime`', async () => {
    replies['/mdm'] = [503, {}];
    const moved = { scheduledTime: Date.now(), startTime: Date.now() - 101_000 };
    await expect(notify({}, moved, { 'mdm.retryWindowSeconds': 100 })).rejects.toMatchObject({ name: 'TaskFailure' });
  });

  test('the window begins when a worker first receives the task; the time in the queue does not count', async () => {
    const values = { 'mdm.retryWindowSeconds': 100 };
    const queued = { scheduledTime: Date.now() - 200_000, startTime: Date.now() - 1_000 };
    replies['/mdm'] = [503, {}];
    expect(await notify({}, queued, values)).toMatchObject({ status: 'IN_PROGRESS' });
    expect(await share(queued, values)).toMatchObject({ status: 'IN_PROGRESS' });
  });

  test('a window of 0 → one try', async () => {
    replies['/mdm'] = [503, {}];
    await expect(notify({}, {}, { 'mdm.retryWindowSeconds': 0 })).rejects.toMatchObject({ name: 'TaskFailure' });
  });
});

describe('the time of a change', () => {
  const changedAtOf = async (answeredAt: unknown) => {
    replies['/mdm/notifications'] = [200, {}];
    const { execute } = createMdmNotify(await dependencies());
    const input = notifyInput({ answered: '{"sisPersonId":"p1"}' });
    await execute(taskOf({ ...input, outbound: { ...input.outbound, answeredAt } }));
    return (bodyOf(other.requests.at(-1)) as { changedAt?: string }).changedAt;
  };

  test('is when the adaptor responded', async () => {
    expect(await changedAtOf('2026-11-21T15:36:41.605Z')).toBe('2026-11-21T15:36:41.605Z');
  });

  test.each([null, undefined, 0, 'soon'])('is left out when the response time is %s', async (answeredAt) => {
    expect(await changedAtOf(answeredAt)).toBeUndefined();
  });
});

describe('mdm_notify with an encoded PATCH or response', () => {
  const notifyWith = async (sent: Buffer, ofSent: object, answered: Buffer, ofAnswered: Record<string, string>) => {
    replies['/mdm/notifications'] = [200, {}];
    other.requests.length = 0;
    const request = { httpMethod: 'PATCH', path: '/mock/colleges/001/persons/p1' };
    const inbound = inboundOf({ ...request, headers: { 'content-type': 'application/json', ...ofSent }, body: sent });
    const outbound = createOutbound({ status: 200, headers: ofAnswered, body: answered });
    const { execute } = createMdmNotify(await dependencies());
    await execute(taskOf({ mis: '001', ...inbound, outbound, requestId: 'r-1', executionId: 'execution-1' }));
    return bodyOf(other.requests[0]);
  };

  test.each(encodings)('%s in the request: MDM gets the cccid and the body as text', async (_name, encode, headers) => {
    const text = '{"cccid":"CCC1"}';
    const told = await notifyWith(encode(text), headers, Buffer.alloc(0), {});
    expect(told).toMatchObject({ sisPersonId: 'p1', cccid: 'CCC1', request: { body: expect.stringMatching(text) } });
  });

  test.each(encodings)('%s in the response: MDM gets the cccid', async (_name, encode, headers) => {
    const told = await notifyWith(Buffer.from('{}'), {}, encode('{"cccid":"CCC2"}'), headers);
    expect(told).toMatchObject({ cccid: 'CCC2' });
  });

  test('a byte order mark in the response from MDM: the interested systems are read', async () => {
    const systems = { interestedSystems: [{ misCode: '002', sisPersonId: 'p', cccid: 'c' }] };
    replies['/mdm/notifications'] = [200, `\ufeff${JSON.stringify(systems)}`];
    expect(await notify({})).toMatchObject({ outputData: { interestedSystems: [{ misCode: '002' }] } });
  });

  test('a response from MDM that is not a JSON object: retried', async () => {
    replies['/mdm/notifications'] = [200, '<html>Sign in</html>'];
    expect(await notify({})).toMatchObject({
      status: 'IN_PROGRESS',
      outputData: { waitingFor: 'the response from MDM is not a JSON object' },
    });
  });

  test('a body that cannot be decoded or has an unknown coding: MDM gets it as it was sent', async () => {
    for (const coding of ['gzip', 'zstd']) {
      const told = await notifyWith(Buffer.from('{"x":1}'), { 'content-encoding': coding }, Buffer.from('{}'), {});
      expect(told).toMatchObject({ request: { body: '{"x":1}' } });
    }
  });
});

describe('mdm_share', () => {
  test('sends the cccid to the adaptor as a PATCH and notifies MDM', async () => {
    replies['/two'] = [200, { sisPersonId: 'q/2' }];
    replies['/mdm/shares'] = [201, { shareId: 's' }];
    expect(await share()).toEqual({ status: 'COMPLETED', outputData: { status: 200 } });
    const [patch, told] = other.requests;
    expect(patch).toMatch(/^PATCH \/two\/mock\/colleges\/002\/persons\/q%2F2 HTTP\/1\.1\r\n/);
    expect(patch).toMatch(/\r\nidempotency-key: execution-1-[0-9a-f]{32}\r\n/i);
    expect(patch).not.toMatch(/authorization/i);
    expect(bodyOf(patch)).toEqual({ cccid: 'CCC1' });
    expect(bodyOf(told)).toEqual({
      executionId: 'execution-1',
      misCode: '002',
      sisPersonId: 'q/2',
      cccid: 'CCC1',
      status: 'shared',
    });
  });

  test('only MDM is unavailable → the next try does not send the PATCH again', async () => {
    replies['/two'] = [204, ''];
    replies['/mdm'] = [503, {}];
    const first = await share();
    expect(first).toMatchObject({
      status: 'IN_PROGRESS',
      outputData: { status: 204, waitingFor: 'MDM responded with status 503' },
    });
    replies['/mdm'] = [200, {}];
    const { outputData } = first as { outputData: Record<string, unknown> };
    expect(await share({ outputData, pollCount: 2 })).toEqual({ status: 'COMPLETED', outputData: { status: 204 } });
    expect(other.requests.filter((request) => request.startsWith('PATCH'))).toHaveLength(1);
  });

  test('the adaptor is unavailable → in progress, and the Idempotency-Key is the same in every try', async () => {
    replies['/mdm'] = [200, {}];
    expect(await share()).toMatchObject({ status: 'IN_PROGRESS' });
    replies['/two'] = [200, {}];
    expect(await share({ pollCount: 2 })).toMatchObject({ status: 'COMPLETED' });
    const keys = other.requests.slice(0, 2).map((request) => /idempotency-key: (.*)\r\n/i.exec(request)?.[1]);
    expect(keys).toEqual([expect.stringMatching(/^execution-1-/), keys[0]]);
  });

  test('a share that is started twice has the same keys; another person, cccid or source has other keys', async () => {
    replies['/two'] = [200, {}];
    replies['/mdm'] = [200, {}];
    const { execute } = createMdmShare(await dependencies());
    const keysOf = async (input: object, workflowInstanceId: string) => {
      other.requests.length = 0;
      await execute(taskOf({ ...shareInput, ...input }, { workflowInstanceId }));
      return other.requests.map((request) => /idempotency-key: (.*)\r\n/i.exec(request)?.[1]);
    };
    const keys = await keysOf({}, 'one');
    expect(new Set(keys).size).toBe(2);
    expect(await keysOf({}, 'two')).toEqual(keys);
    for (const input of [{ sisPersonId: 'q3' }, { cccid: 'CCC2' }, { sourceExecutionId: 'execution-2' }]) {
      for (const key of await keysOf(input, 'one')) expect(keys).not.toContain(key);
    }
  });

  test('MDM names a newer cccid → the newer cccid is sent too, with its own key', async () => {
    replies['/two'] = [200, {}];
    replies['/mdm/shares'] = [201, { shareId: 's', cccid: 'CCC2' }];
    expect(await share()).toEqual({ status: 'COMPLETED', outputData: { status: 200 } });
    const sent = other.requests.map((request) => [request.split(' ')[0], bodyOf(request)]);
    expect(sent).toMatchObject([
      ['PATCH', { cccid: 'CCC1' }],
      ['POST', { cccid: 'CCC1', status: 'shared' }],
      ['PATCH', { cccid: 'CCC2' }],
      ['POST', { cccid: 'CCC2', status: 'shared' }],
    ]);
    const keys = other.requests.map((request) => /idempotency-key: (.*)\r\n/i.exec(request)?.[1]);
    expect(new Set(keys).size).toBe(4);
  });

  describe('corrections', () => {
    /**
     * Runs attempts of a share until MDM has sent every response. MDM sends one response for each report; `undefined`
     * stands for a response without a cccid.
     * @param lost cccid whose first PATCH gets a 503 although the adaptor applies it
     * @returns the calls with their keys
     * @throws Error when the task does not complete with the last response
     */
    async function callsOf(responses: (string | 503 | undefined)[], lost?: string) {
      const calls: { call: string; key: string }[] = [];
      const { config } = await dependencies();
      const callBackEnd: CallBackEnd = async ({ method, headers, body }) => {
        const { cccid } = JSON.parse(body.toString()) as { cccid: string };
        const call = `${method} ${cccid}`;
        const isFirst = calls.every((earlier) => earlier.call !== call);
        calls.push({ call, key: String(headers['idempotency-key']) });
        const response = method === 'POST' ? responses.shift() : isFirst && cccid === lost ? 503 : undefined;
        if (response === 503) return { status: 503, headers: {}, body: Buffer.alloc(0) };
        return { status: 200, headers: {}, body: Buffer.from(JSON.stringify({ cccid: response })) };
      };
      const { execute } = createMdmShare({ config, callBackEnd });
      let outcome: Awaited<ReturnType<typeof execute>> | undefined;
      while (responses.length > 0)
        outcome = await execute(taskOf(shareInput, { outputData: outcome?.outputData ?? {} }));
      if (outcome?.status !== 'COMPLETED') throw new Error(`the task ended with ${outcome?.status}`);
      return calls;
    }
    const keysOf = (calls: { call: string; key: string }[], wanted: string) =>
      calls.filter(({ call }) => call === wanted).map(({ key }) => key);

    test('MDM names an earlier cccid again → each PATCH and each report has its own key', async () => {
      const calls = await callsOf(['CCC2', 'CCC1', 'CCC1']);
      expect(calls.map(({ call }) => call)).toEqual([
        ...['PATCH CCC1', 'POST CCC1', 'PATCH CCC2', 'POST CCC2', 'PATCH CCC1', 'POST CCC1'],
      ]);
      expect(new Set(calls.map(({ key }) => key)).size).toBe(6);
    });

    test('MDM names an earlier cccid again in a later attempt → each PATCH has its own key', async () => {
      const calls = await callsOf(['CCC2', 'CCC1', 503, 'CCC2', 'CCC2']);
      const [first, later, ...others] = keysOf(calls, 'PATCH CCC2');
      expect(others).toEqual([]);
      expect(later).not.toBe(first);
    });

    test('two executions of one share send the same correction → each has its own key, so both are applied', async () => {
      const [one, other] = [await callsOf(['CCC2', 'CCC3', 'CCC3']), await callsOf(['CCC4', 'CCC3', 'CCC3'])];
      expect(keysOf(one, 'PATCH CCC1')).toEqual(keysOf(other, 'PATCH CCC1'));
      expect(keysOf(one, 'PATCH CCC3')).not.toEqual(keysOf(other, 'PATCH CCC3'));
    });

    test('the report of a correction fails, and the first cccid is current again → it is sent again', async () => {
      const calls = await callsOf(['CCC2', 503, 'CCC1', 'CCC1']);
      expect(calls.map(({ call }) => call)).toEqual([
        ...['PATCH CCC1', 'POST CCC1', 'PATCH CCC2', 'POST CCC2'],
        ...['POST CCC1', 'PATCH CCC1', 'POST CCC1'],
      ]);
      expect(new Set(keysOf(calls, 'PATCH CCC1')).size).toBe(2);
    });

    test('the report of a correction fails, and MDM then names no cccid → completes without a PATCH', async () => {
      const calls = await callsOf(['CCC2', 503, undefined]);
      expect(calls.map(({ call }) => call)).toEqual([
        ...['PATCH CCC1', 'POST CCC1', 'PATCH CCC2', 'POST CCC2'],
        'POST CCC1',
      ]);
    });

    test('the outcome of a correction is unknown, and then the first cccid is current again → it is sent again', async () => {
      const calls = await callsOf(['CCC2', 'CCC1', 'CCC1'], 'CCC2');
      expect(calls.map(({ call }) => call)).toEqual([
        ...['PATCH CCC1', 'POST CCC1', 'PATCH CCC2'],
        ...['POST CCC1', 'PATCH CCC1', 'POST CCC1'],
      ]);
    });

    test('the first cccid keeps the key of earlier releases', async () => {
      const calls = await callsOf(['CCC1']);
      const hash = createHash('sha256').update(JSON.stringify(['002', 'q/2', 'CCC1', 'patch']));
      expect(calls[0]?.key).toBe(`execution-1-${hash.digest('hex').slice(0, 32)}`);
    });
  });

  test.each([404, 409, 422])(
    'the adaptor responds with %i → fails permanently, and MDM is notified',
    async (status) => {
      replies['/two'] = [status, {}];
      replies['/mdm'] = [201, {}];
      await expect(share()).rejects.toMatchObject({
        message: `the adaptor rejected the request with status ${status}`,
      });
      expect(bodyOf(other.requests[1])).toMatchObject({ status: 'failed' });
    },
  );

  test('the adaptor rejects only the newer cccid → MDM is told which cccid was shared and which failed', async () => {
    replies['/two'] = [200, {}];
    replies['/mdm/shares'] = [201, { cccid: 'CCC2' }];
    rejected = '{"cccid":"CCC2"}';
    await expect(share()).rejects.toMatchObject({ message: 'the adaptor rejected the request with status 422' });
    const told = other.requests.filter((request) => request.startsWith('POST')).map(bodyOf);
    expect(told).toMatchObject([
      { cccid: 'CCC1', status: 'shared' },
      { cccid: 'CCC2', status: 'failed' },
    ]);
  });

  test('MDM rejects the report of a share → fails, and MDM is not told that the share failed', async () => {
    replies['/two'] = [200, {}];
    replies['/mdm/shares'] = [422, {}];
    await expect(share()).rejects.toMatchObject({ message: 'MDM rejected the request with status 422' });
    expect(other.requests.slice(1).map(bodyOf)).toMatchObject([{ cccid: 'CCC1', status: 'shared' }]);
  });

  test('a person key made of dots → fails, and no PATCH is sent', async () => {
    const { execute } = createMdmShare(await dependencies());
    replies['/mdm'] = [201, {}];
    await expect(execute(taskOf({ ...shareInput, sisPersonId: '..' }))).rejects.toMatchObject({ name: 'TaskFailure' });
    expect(other.requests.filter((request) => request.startsWith('PATCH'))).toHaveLength(0);
  });

  test.each(['misCode', 'sisPersonId', 'cccid', 'sourceExecutionId'])(
    'an input without %s → fails with that name in the reason, and nothing is sent',
    async (name) => {
      const { execute } = createMdmShare(await dependencies());
      for (const value of [undefined, null, '', 7]) {
        const failure = execute(taskOf({ ...shareInput, [name]: value }));
        await expect(failure).rejects.toMatchObject({
          name: 'TaskFailure',
          message: `the share cannot be read: ${name} is missing, empty or not a string`,
        });
      }
      expect(other.requests).toHaveLength(0);
    },
  );
});
