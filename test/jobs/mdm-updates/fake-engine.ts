// A fake engine over HTTP, with a client; both are closed after the test.

import { createServer, type RequestListener } from 'node:http';
import { onTestFinished } from 'vitest';
import { Engine } from '#lib/conductor/engine.ts';
import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { noRecorder } from '#lib/records/recorder.ts';
import { listenOnLoopback } from '../../../dev/loopback-server.ts';
import type { ShareDependencies } from '../../../jobs/mdm-updates/share-update.ts';

/** Starts the server and returns the dependencies for starting a share. Call it in a test. */
export async function startFakeEngine(respond: RequestListener): Promise<ShareDependencies> {
  const server = await listenOnLoopback(createServer(respond));
  const engine = new Engine({ url: server.url, timeoutMs: 60_000, connections: 1 });
  onTestFinished(async () => {
    await engine.close();
    await server.close();
  });
  return { executions: new ExecutionApi((request) => engine.request(request)), recorder: noRecorder };
}
