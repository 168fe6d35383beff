// Tests of the intake workers with a back end on a raw socket.

import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Task } from '#lib/conductor/types.ts';
import type { InboundRequest } from '#lib/envelope/inbound.ts';
import { readOutbound } from '#lib/envelope/outbound.ts';
import { createBackEndCaller } from '../../workers/back-end/call-back-end.ts';
import { createBackEndIntake } from '../../workers/back-end_intake.ts';
import { createCollegeAdaptorIntake } from '../../workers/college-adaptor_intake.ts';
import type { TaskOutcome, Worker } from '../../workers/worker.ts';
import { answers, ok, type RawBackEnd, type Reaction, startRawBackEnd } from './raw-back-end.ts';
import { configOf, inboundOf } from './started-workers.ts';

let react: Reaction = ok;
let backEnd: RawBackEnd;
let caller: ReturnType<typeof createBackEndCaller>;

beforeEach(async () => {
  react = ok;
  backEnd = await startRawBackEnd((socket, request) => react(socket, request));
  caller = createBackEndCaller({ timeoutMs: 60_000, maxResponseBytes: 100_000 });
});
afterEach(async () => {
  caller.close();
  await backEnd.stop();
});

const taskOf = (inputData: Record<string, unknown>): Task => ({
  taskId: 'task-1',
  taskType: 'SIMPLE',
  taskDefName: 'x',
  referenceTaskName: 'x',
  workflowInstanceId: 'execution-1',
  inputData,
});

async function adaptor(values: Record<string, string> = {}): Promise<Worker> {
  const config = await configOf({ 'adaptor.001.url': `${backEnd.url}/one`, ...values });
  return createCollegeAdaptorIntake({ config, callBackEnd: caller.call });
}

async function ask(request: Partial<InboundRequest>, values: Record<string, string> = {}): Promise<TaskOutcome> {
  const worker = await adaptor(values);
  return worker.execute(taskOf(inboundOf({ params: { mis: '001' }, ...request })));
}

function outboundOf(outcome: TaskOutcome) {
  if (outcome.status !== 'COMPLETED') throw new Error(`not completed: ${outcome.status}`);
  return readOutbound(outcome.outputData['outbound']);
}

describe('the request', () => {
  test('forwards allowed headers but never credentials, cookies or hop-by-hop fields, even if configured', async () => {
    const headers = {
      accept: 'application/json',
      'content-type': 'application/json',
      'if-match': '"1"',
      'x-campus': 'north',
      'x-unknown': 'no',
      authorization: 'Bearer secret-token',
      'x-authorization': 'secret-token',
      cookie: 'session=secret',
      connection: 'x-unknown',
      te: 'trailers',
    };
    await ask(
      { httpMethod: 'PATCH', headers, body: Buffer.from('{}') },
      { 'router.requestHeaders': 'X-Campus, Authorization, Cookie' },
    );
    const head = backEnd.requests[0]?.split('\r\n\r\n')[0] ?? '';
    expect(head).toMatch(/\r\naccept: application\/json\r\n/i);
    expect(head).toMatch(/\r\nif-match: "1"\r\n/i);
    expect(head).toMatch(/\r\nx-campus: north\r\n/i);
    expect(head).not.toMatch(/secret|x-unknown|trailers|user-agent/i);
  });

  test('has an X-Request-Id; only writes have an Idempotency-Key, which is the execution id', async () => {
    for (const httpMethod of ['GET', 'PATCH', 'POST', 'DELETE']) await ask({ httpMethod, requestId: 'r-7' });
    const [read, ...writes] = backEnd.requests;
    expect(read).toMatch(/\r\nx-request-id: r-7\r\n/i);
    expect(read).not.toMatch(/idempotency-key/i);
    for (const write of writes) expect(write).toMatch(/\r\nidempotency-key: execution-1\r\n/i);
  });

  test('text that looks like an engine expression arrives unchanged', async () => {
    await ask({
      httpMethod: 'POST',
      path: '/${workflow.secrets.X}/a\\b',
      query: 'q=${HOME}',
      headers: { 'user-agent': '${workflow.secrets.Y}' },
      body: Buffer.from('{"a":"${workflow.secrets.Z}"}'),
    });
    expect(backEnd.requests[0]).toContain('POST /one/${workflow.secrets.X}/a\\b?q=${HOME} HTTP/1.1');
    expect(backEnd.requests[0]).toContain('${workflow.secrets.Y}');
    expect(backEnd.requests[0]).toContain('{"a":"${workflow.secrets.Z}"}');
  });

  test('goes to the adaptor of its college, or to the common adaptor when the college has none', async () => {
    const worker = await adaptor({ 'adaptor.url': `${backEnd.url}/common` });
    for (const mis of ['001', '999']) await worker.execute(taskOf(inboundOf({ path: '/x', params: { mis } })));
    expect(backEnd.requests.map((request) => request.split(' ')[1])).toEqual(['/one/x', '/common/x']);
  });

  test('goes to the base URL of its plain back end', async () => {
    const config = await configOf({
      'lmsDW.url': `${backEnd.url}/dw/`,
      'movies.url': `${backEnd.url}/films`,
      'backEnd.catalog.url': `${backEnd.url}/courses`,
    });
    const send = (name: string, path: string) =>
      createBackEndIntake(name, { config, callBackEnd: caller.call }).execute(taskOf(inboundOf({ path })));
    await send('lms-dw', '/7/dataSync/');
    await send('movies', '/Am%C3%A9lie');
    await send('catalog', '/ENGL-C1000');
    const targets = backEnd.requests.map((request) => request.split(' ')[1]);
    expect(targets).toEqual(['/dw/7/dataSync/', '/films/Am%C3%A9lie', '/courses/ENGL-C1000']);
  });
});

describe('the response', () => {
  test.each([200, 204, 301, 404, 409, 422, 500, 503])('status %i completes the task', async (status) => {
    react = answers(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`);
    expect(outboundOf(await ask({ httpMethod: 'PATCH' })).status).toBe(status);
  });

  test('keeps only allowed and configured headers, and never cookies', async () => {
    react = answers(
      [
        'HTTP/1.1 200 OK',
        'Content-Type: application/json; charset=utf-8',
        'ETag: "7"',
        'X-Rate: 5',
        'X-Powered-By: secret',
        'Set-Cookie: a=secret',
        'Server: secret',
        'Content-Length: 2',
        '',
        '{}',
      ].join('\r\n'),
    );
    const { headers } = outboundOf(await ask({}, { 'router.responseHeaders': 'X-Rate,Set-Cookie' }));
    expect(headers).toEqual({ 'content-type': 'application/json; charset=utf-8', etag: '"7"', 'x-rate': '5' });
  });

  test.each([
    ['HTML', 'text/html', Buffer.from('<h1>It works</h1>')],
    [
      'JSON with NUL, a long number and an expression',
      'application/json',
      Buffer.from('{"a":"\0","n":12345678901234567890,"e":"${x}"}'),
    ],
    ['JSON with a duplicate key', 'application/json', Buffer.from('{"a":1,"a":2}')],
    ['bytes that are not text', 'image/png', Buffer.from([0x89, 0x50, 0xff, 0x00])],
    ['a large body', 'text/plain', Buffer.alloc(90_000, 'abc ')],
  ])('%s is returned byte for byte', async (_label, type, body) => {
    const head = `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`;
    react = (socket) => void socket.write(Buffer.concat([Buffer.from(head), body]));
    const answer = outboundOf(await ask({}));
    expect(answer.body.equals(body)).toBe(true);
    expect(answer.headers['content-type']).toBe(type);
  });

  test('stays compressed and keeps its Content-Encoding', async () => {
    const body = gzipSync('{}');
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`;
    react = (socket) => void socket.write(Buffer.concat([Buffer.from(head), body]));
    const answer = outboundOf(await ask({}));
    expect(answer.headers['content-encoding']).toBe('gzip');
    expect(answer.body.equals(body)).toBe(true);
  });

  test('a status outside 200 to 599 fails the task', async () => {
    react = answers('HTTP/1.1 799 X\r\nContent-Length: 0\r\n\r\n');
    await expect(ask({})).rejects.toMatchObject({ code: 'back-end-bad-answer' });
  });
});

describe('a task that fails before its back end is called', () => {
  test.each(['999', '', '../001', '__proto__', 'constructor', '001.url'])(
    'MIS code %j without an adaptor → unknown-college, and no back end is called',
    async (mis) => {
      const worker = await adaptor();
      const outcome = worker.execute(taskOf(inboundOf({ params: { mis } })));
      await expect(outcome).rejects.toMatchObject({ code: 'unknown-college' });
      expect(backEnd.requests).toHaveLength(0);
    },
  );

  test.each([[undefined], [null], ['text'], [{}], [{ httpMethod: 'GET' }]])(
    'a task whose inbound is %j → a TaskFailure, not an unexpected error',
    async (inbound) => {
      const worker = await adaptor();
      await expect(worker.execute(taskOf({ inbound }))).rejects.toMatchObject({ name: 'TaskFailure' });
    },
  );

  test('a compressed body that inflates beyond the limit → a TaskFailure, and no back end is called', async () => {
    const inbound = { httpMethod: 'PUT', path: '/', params: { mis: '001' }, headers: {}, bodyEncoding: 'gzip+base64' };
    const body = gzipSync(Buffer.alloc(1_000_000)).toString('base64');
    const worker = await adaptor();
    await expect(worker.execute(taskOf({ inbound: { ...inbound, body } }))).rejects.toMatchObject({
      name: 'TaskFailure',
    });
    expect(backEnd.requests).toHaveLength(0);
  });
});
