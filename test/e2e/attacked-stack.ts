// A stack with everything between router, engine and identity provider written down: what attacks are aimed at.

import { type RecordingProxy, startRecordingProxy } from '../stack/recording-proxy.ts';
import { type Stack, startStack } from '../stack/stack.ts';

export interface AttackedStack {
  readonly stack: Stack;
  /** What reached the engine. */
  readonly engine: RecordingProxy;
  /** What reached the identity provider's key set (`/jwks`) and token endpoint (`/token`). */
  readonly provider: RecordingProxy;
  stop(): Promise<void>;
}

/** No workers: whatever reaches the engine is a request's doing. */
export async function startAttackedStack(
  engineUrl: string,
  router: Record<string, string> = {},
): Promise<AttackedStack> {
  const stack = await startStack({ engineUrl, withWorkers: false });
  const engine = await startRecordingProxy(engineUrl);
  const provider = await startRecordingProxy(stack.issuer);
  await stack.router.stop();
  await stack.restartRouter({
    CONDUCTOR_URL: engine.url,
    OAUTH_JWKSURL: `${provider.url}/jwks`,
    OAUTH_TOKENURL: `${provider.url}/token`,
    ...router,
  });
  return {
    stack,
    engine,
    provider,
    async stop() {
      await stack.stop();
      await Promise.all([engine.stop(), provider.stop()]);
    },
  };
}
