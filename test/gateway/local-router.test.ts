// Tests of the helpers that check the responses of a router against its OpenAPI document.

import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { listenOnLoopback } from '../../dev/loopback-server.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { startCheckedRouter } from '../stack/checked-router.ts';
import { call } from '../stack/client.ts';
import { startDescribedRouter } from './local-router.ts';

const nowhere = 'http://127.0.0.1:9';
const anotherProcess = { OAUTH_ISSUER: nowhere, CONDUCTOR_URL: nowhere, RECONCILER_INTERVALMS: '0', OPS_PORT: '0' };

it.each([
  ['in this process', startDescribedRouter],
  ['in another process', (env: Record<string, string>) => startCheckedRouter({ ...anotherProcess, ...env })],
])('the document of a stopped router %s is not used to check another server on its port', async (_where, start) => {
  const port = await findFreePort();
  const router = await start({ ROUTER_PORT: String(port) });
  await router.stop();
  const server = await listenOnLoopback(
    createServer((_request, response) => response.end('not described')),
    { port },
  );
  onTestFinished(() => server.close());
  expect((await call(`${server.url}/problems`)).text).toBe('not described');
});
