// A stack as the target of attacks, with a recording of all requests from the router to the engine and the identity
// provider.

import { pollUntil } from '../stack/poll-until.ts';
import { type RecordingProxy, startRecordingProxy } from '../stack/recording-proxy.ts';
import { shareStack } from '../stack/stack.ts';

/** Starts the stack without workers, so engine calls come only from requests and from the router's own checks. */
export async function startAttackedStack(engineUrl: string, router: Record<string, string> = {}) {
  const engine = await startRecordingProxy(engineUrl);
  const { promise: provider, resolve } = Promise.withResolvers<RecordingProxy>();
  const stack = await shareStack({
    engineUrl,
    withWorkers: false,
    async router({ issuer }) {
      const proxy = await startRecordingProxy(issuer);
      resolve(proxy);
      const provided = { OAUTH_JWKSURL: `${proxy.url}/jwks`, OAUTH_TOKENURL: `${proxy.url}/token` };
      return { CONDUCTOR_URL: engine.url, ...provided, ...router };
    },
  });
  const recorded = await provider;
  await pollUntil('the router to ask the engine for its calls and event handlers', () =>
    ['OPTIONS /api/tasks/none/none/COMPLETED/sync', 'GET /api/event'].every((call) =>
      engine.requests.some(({ method, target }) => `${method} ${target}` === call),
    ),
  );
  return {
    stack,
    /** Requests that reached the engine. */
    engine,
    /** Requests that reached the identity provider's key set (`/jwks`) and token endpoint (`/token`). */
    provider: recorded,
    async stop() {
      await stack.stop();
      await Promise.all([engine.stop(), recorded.stop()]);
    },
  };
}

export type AttackedStack = Awaited<ReturnType<typeof startAttackedStack>>;
