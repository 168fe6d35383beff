// A router without engine and identity provider: what it says of itself needs neither.

import { call, checkAnswersOf, type CallOptions, type RouterAnswer } from '../../stack/client.ts';
import { type Program, startProgram } from '../../stack/program.ts';

export interface LoneRouter {
  readonly url: string;
  /** Every response must be one that the router's own document describes. */
  ask(path: string, options?: CallOptions): Promise<RouterAnswer>;
  stop(): Promise<unknown>;
}

/** @param env more configuration */
export async function startLoneRouter(env: Record<string, string> = {}): Promise<LoneRouter> {
  const router: Program = await startProgram('gateway/main.ts', {
    // Nobody listens there (the discard port).
    OAUTH_ISSUER: 'http://127.0.0.1:9',
    CONDUCTOR_URL: 'http://127.0.0.1:9',
    ROUTER_PORT: '0',
    OPS_PORT: '0',
    RECONCILER_INTERVALMS: '0',
    LOG_LEVEL: 'error',
    ...env,
  });
  const url = String(router.ready['url']);
  await checkAnswersOf(url);
  return { url, ask: (path, options) => call(`${url}${path}`, options), stop: () => router.stop() };
}
