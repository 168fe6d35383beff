// Callers that leave, seen by whoever asks before or after: real sockets.

import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { signalWhenGone } from '../../gateway/plugin-api/signal-when-gone.ts';
import { pollUntil } from '../stack/poll-until.ts';

let server: Server;
let client: Socket;
let response: ServerResponse;

beforeEach(async () => {
  server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
});
afterEach(() => {
  client.destroy();
  server.close();
});

it('a caller that leaves before its answer: aborts', async () => {
  const signal = signalWhenGone(response);
  expect(signal.aborted).toBe(false);
  client.destroy();
  await pollUntil('the signal', () => signal.aborted);
});

it('a caller that has left before anybody asked: aborted from the beginning', async () => {
  const closed = once(response, 'close');
  client.destroy();
  await closed;
  expect(signalWhenGone(response).aborted).toBe(true);
});

it('a complete answer: never aborts, before or after', async () => {
  const before = signalWhenGone(response);
  const closed = once(response, 'close');
  response.end('all of it');
  await closed;
  client.destroy();
  expect([before.aborted, signalWhenGone(response).aborted]).toEqual([false, false]);
});
