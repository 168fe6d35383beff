// An HTTP server in place of the engine, with a client of it; both are closed after the test.

import { createServer, type RequestListener } from 'node:http';
import { onTestFinished } from 'vitest';
import { Engine } from '#lib/conductor/engine.ts';
import { listenOnLoopback } from '../../../dev/loopback-server.ts';

/** Starts the server and returns the client. Call it in a test. */
export async function startFakeEngine(respond: RequestListener): Promise<Engine> {
  const server = await listenOnLoopback(createServer(respond));
  const engine = new Engine({ url: server.url, timeoutMs: 5_000, connections: 1 });
  onTestFinished(async () => {
    await engine.close();
    await server.close();
  });
  return engine;
}
