// A router in this process, on free ports, for tests of its responses. To test the process, start `gateway/main.ts`.

import type { Registry } from 'prom-client';
import { loadConfig } from '#lib/config/load.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { type Router, startRouter } from '../../gateway/start-router.ts';
import { call, checkAnswersOf, describeNothingOf, type CallOptions } from '../stack/client.ts';

/** Starts the router. @param env configuration; by default, engine and identity provider are unreachable (port 9) */
export async function startLocalRouter(env: Record<string, string> = {}, metrics?: Registry): Promise<Router> {
  const nowhere = 'http://127.0.0.1:9';
  const own = { OAUTH_ISSUER: nowhere, CONDUCTOR_URL: nowhere, RECONCILER_INTERVALMS: '0' };
  const { config } = await loadConfig({ env: { ...own, ROUTER_PORT: '0', OPS_PORT: '0', ...env } });
  return startRouter({ config, log: createLog('test', 'silent'), ...(metrics && { metrics }) });
}

/** Starts a local router whose responses must all be described by its own OpenAPI document. */
export async function startDescribedRouter(env: Record<string, string> = {}) {
  const router = await startLocalRouter(env);
  await checkAnswersOf(router.url);
  return {
    ...router,
    /** Sends a request. @throws Error for a response that the document does not describe */
    ask: (path: string, options?: CallOptions) => call(`${router.url}${path}`, options),
    async stop(): Promise<void> {
      await router.stop();
      // The system can give the port to the server of another test.
      describeNothingOf(router.url);
    },
  };
}

export type DescribedRouter = Awaited<ReturnType<typeof startDescribedRouter>>;
