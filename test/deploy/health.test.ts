// Tests of deploy/image/health.mjs, the health check of the containers.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findFreePort } from '../../dev/setup/ports.mjs';

const script = fileURLToPath(new URL('../../deploy/image/health.mjs', import.meta.url));
let server: Server;
let port: number;

beforeAll(async () => {
  server = createServer((request, response) => {
    response.statusCode = request.url === '/health/live' ? 200 : 503;
    response.end(JSON.stringify({ asked: request.url }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());

async function ask(args: readonly string[], opsPort: number): Promise<{ code: number; printed: string }> {
  const child = spawn(process.execPath, [script, ...args], { env: { OPS_PORT: String(opsPort) } });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return { code: code as number, printed };
}

it('live and 200 → exit code 0', async () => {
  expect(await ask([], port)).toEqual({ code: 0, printed: '{"asked":"/health/live"}\n' });
});

it('ready and 503 → exit code 1, with the reasons', async () => {
  expect(await ask(['ready'], port)).toEqual({ code: 1, printed: '{"asked":"/health/ready"}\n' });
});

it('the address of another router → checks that router', async () => {
  expect((await ask(['live', `http://127.0.0.1:${port}`], 1)).code).toBe(0);
});

it('nothing listens → exit code 1 and a readable reason', async () => {
  const free = await findFreePort();
  const { code, printed } = await ask(['live'], free);
  expect(code).toBe(1);
  expect(printed).toBe(`http://127.0.0.1:${free} does not respond: ECONNREFUSED\n`);
});
