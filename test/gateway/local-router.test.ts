// Tests of the helper that checks responses of a router against its document.

import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { call } from '../stack/client.ts';
import { startDescribedRouter } from './local-router.ts';

it('a server that gets the port of a stopped router is not checked against the document of that router', async () => {
  const router = await startDescribedRouter();
  await router.stop();
  const server = createServer((_request, response) => response.end('not described'));
  await new Promise<void>((resolve) => server.listen(Number(new URL(router.url).port), '127.0.0.1', resolve));
  try {
    expect((await call(`${router.url}/problems`)).text).toBe('not described');
  } finally {
    server.close();
  }
});
