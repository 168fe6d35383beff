// Tests of large results of workers: the router reads at most `router.resultBytes` of them at a time.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createToken } from '../plugins/oauth2/forge.ts';
import { type Caller, callerFor } from '../stack/client.ts';
import { issuerKey } from '../stack/issuer-key.ts';
import { readCount, readCounts } from '../stack/metrics.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { audience, shareStack, type Stack } from '../stack/stack.ts';
import { RawConnection } from '../wire/raw-client.ts';
import { engineOfRun } from './engine-of-run.ts';

let stack: Stack;
let demo: Caller;

beforeAll(async () => {
  stack = await shareStack({
    engineUrl: engineOfRun().url,
    router: { ROUTER_RESULTBYTES: '300000', ROUTER_REQUESTTIMEOUTMS: '4000' },
  });
  demo = await callerFor(stack.url);
});
afterAll(() => stack?.stop());

const fault = (kind: string, options = {}) => demo(`/adaptor/001/mock/faults/${kind}`, options);
const gauge = (name: string) => readCount(stack.operationsUrl, name);

describe('large responses that arrive at the same time', () => {
  it('are read one by one, and small responses overtake them', async () => {
    let mostBytes = 0;
    const watch = pollUntil('results to wait for each other', async () => {
      const counts = await readCounts(stack.operationsUrl);
      mostBytes = Math.max(mostBytes, counts['router_result_bytes'] ?? 0);
      return (counts['router_results_waiting'] ?? 0) > 0;
    });
    // A busy machine may take longer than the default response deadline.
    const patient = { headers: { prefer: 'wait=60' } };
    const large = Promise.all(Array.from({ length: 6 }, () => fault('bytes/524288', patient)));
    await watch;
    expect((await demo('/movies/seven%20samurai')).status).toBe(200);
    for (const { status, bytes } of await large) expect([status, bytes.length]).toEqual([200, 524_288]);
    expect(mostBytes).toBe(300_000);
    await pollUntil('all result bytes to be released', async () => (await gauge('router_result_bytes')) === 0);
    expect(await gauge('router_results_waiting')).toBe(0);
  });
});

describe('a worker that sends its results byte by byte', () => {
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const connections: RawConnection[] = [];
  let head: string;
  beforeAll(async () => {
    const mint = { issuer: stack.issuer, audience, nowSeconds: () => Date.now() / 1000 };
    const claims = { client_id: 'slow', sub: 'slow', scope: 'conductor_worker' };
    const token = createToken(await issuerKey(stack), mint, { claims });
    head = `POST /conductor/api/tasks HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
  });
  afterEach(() => {
    for (const { socket } of connections.splice(0)) socket.destroy();
  });
  const open = (text: string) => {
    const connection = new RawConnection(stack.url);
    connections.push(connection);
    connection.send(text);
    return connection;
  };

  it('delays only its own results; large results of other workers are still read', async () => {
    for (let index = 0; index < 4; index++) open(`${head}Content-Length: 100000\r\n\r\n{`);
    await pollUntil('one result to be read, three to wait', async () => (await gauge('router_results_waiting')) === 3);
    expect(await gauge('router_result_bytes')).toBe(100_000);
    for (let index = 0; index < 3; index++) expect((await fault('bytes/100000')).bytes).toHaveLength(100_000);
    expect(await gauge('router_results_waiting')).toBe(3);
    for (const { socket } of connections.splice(0)) socket.destroy();
    await pollUntil('all result bytes to be released', async () => (await gauge('router_result_bytes')) === 0);
    expect(await gauge('router_results_waiting')).toBe(0);
  });

  it('a chunked result counts towards router.resultBytes once it exceeds the size of a small result', async () => {
    const connection = open(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk('{"a":"')}`);
    const small = open(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk('{}')}0\r\n\r\n`);
    expect((await small.answer()).status).toBe(400);
    expect(await gauge('router_result_bytes')).toBe(0);
    connection.send(chunk('x'.repeat(70_000)));
    await pollUntil('the chunked result to count', async () => (await gauge('router_result_bytes')) === 300_000);
    connection.send(chunk('x'.repeat(1_000_000)) + chunk('"}') + '0\r\n\r\n');
    expect((await connection.answer()).status).toBe(400);
    expect(await gauge('router_result_bytes')).toBe(0);
  });

  it('a chunked result stays unread in its socket until there is room', async () => {
    const first = open(`${head}Content-Length: 300000\r\n\r\n{`);
    await pollUntil('the first result to be read', async () => (await gauge('router_result_bytes')) === 300_000);
    const second = open(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk('x'.repeat(70_000))}0\r\n\r\n`);
    await pollUntil('the second result to wait', async () => (await gauge('router_results_waiting')) === 1);
    first.socket.destroy();
    expect((await second.answer()).status).toBe(400);
  });

  it('a chunked result that times out while it waits gets 408 and is not read', async () => {
    const late = open(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk('x')}`);
    const first = open(`${head}Content-Length: 300000\r\n\r\n{`);
    await pollUntil('the first result to be read', async () => (await gauge('router_result_bytes')) === 300_000);
    late.send(chunk('x'.repeat(70_000)));
    await pollUntil('the late result to wait', async () => (await gauge('router_results_waiting')) === 1);
    expect((await late.answer()).status).toBe(408);
    first.socket.destroy();
    await pollUntil('all result bytes to be released', async () => (await gauge('router_result_bytes')) === 0);
    expect(await gauge('router_results_waiting')).toBe(0);
  });
});
