// A server with the policy `engine-api`, for tests that supply its dependencies.

import { createServer } from 'node:http';
import type { Config } from '#lib/config/schema.ts';
import { toProblem } from '#lib/problem/problem.ts';
import { listenOnLoopback, type LoopbackServer } from '../../../../dev/loopback-server.ts';
import { setContext } from '../../../../gateway/plugin-api/request-context.ts';
import {
  createEngineApiPolicy,
  type EngineApiDependencies,
} from '../../../../plugins/conductor/task-api/engine-api.ts';

/** Limits that allow every call. */
export const noLimits = {
  checkCall: () => undefined,
  checkTask: async () => undefined,
  sortQueues: (_client: string, allowed: unknown) => ({ allowed, refused: [] }),
};

/**
 * Starts a server with the policy, under `/conductor`. Every request comes from the client `worker`. A problem becomes
 * a response with its status and, as JSON, its detail.
 */
export function startEngineApi(config: Config, dependencies: EngineApiDependencies): Promise<LoopbackServer> {
  const handle = createEngineApiPolicy(config, dependencies).policy({ strip: '/conductor' } as never, 'step');
  return listenOnLoopback(
    createServer(async (request, response) => {
      const context = { requestId: 'r', clientAddress: '192.0.2.1', route: 'conductor', clientId: 'worker' };
      setContext(request, { ...context, scopes: new Set(['conductor_worker']) });
      try {
        const expressRequest = Object.assign(request, { originalUrl: request.url });
        await handle(expressRequest as never, response as never, () => undefined);
      } catch (error) {
        const { status, detail } = toProblem(error);
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ detail }));
      }
    }),
  );
}
