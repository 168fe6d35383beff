// Tests of the signal for clients that disconnect, with real sockets.

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

it('aborts when the client leaves before its response is complete', async () => {
  const signal = signalWhenGone(response);
  expect(signal.aborted).toBe(false);
  client.destroy();
  await pollUntil('the signal', () => signal.aborted);
});

it('is already aborted when the client left earlier', async () => {
  const closed = once(response, 'close');
  client.destroy();
  await closed;
  expect(signalWhenGone(response).aborted).toBe(true);
});

it('never aborts after a complete response', async () => {
  const before = signalWhenGone(response);
  const closed = once(response, 'close');
  response.end('all of it');
  await closed;
  client.destroy();
  expect([before.aborted, signalWhenGone(response).aborted]).toEqual([false, false]);
});
