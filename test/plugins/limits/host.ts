// A small server behind one limit policy: clients name themselves in a header, and some requests wait until they are
// released.

import express from 'express';
import { createServer } from 'node:http';
import { listenOnLoopback } from '../../../dev/loopback-server.ts';
import { respondWithProblem } from '../../../gateway/server/respond-with-problem.ts';
import type { Policy } from '../../../gateway/plugin-api/plugin-api.ts';
import { setContext } from '../../../gateway/plugin-api/request-context.ts';

/** Starts the server. @param action the parameters of the policy, as in gateway.config.yml */
export async function startLimitedHost(policy: Policy, action: object = {}) {
  const app = express();
  const waiting: express.Response[] = [];
  app.use((request, _response, next) => {
    const clientId = request.get('x-client');
    const route = request.get('x-route') ?? 'test';
    const clientAddress = request.socket.remoteAddress ?? '';
    setContext(request, { requestId: 'r', clientAddress, route, ...(clientId === undefined ? {} : { clientId }) });
    next();
  });
  const handler = policy.policy(action as never, 'step');
  app.use((request, response, next) => void Promise.resolve(handler(request, response, next)).catch(next));
  app.get('/held', (_request, response) => void waiting.push(response));
  app.use((_request, response) => void response.end('through'));
  app.use(
    ((error, request, response, _next) =>
      void respondWithProblem(request, response, error)) as express.ErrorRequestHandler,
  );
  const { url, close } = await listenOnLoopback(createServer(app));
  return {
    url,
    /** Number of waiting requests to `/held`. */
    get held() {
      return waiting.length;
    },
    /** Responds to the waiting requests. */
    letGo: () => waiting.splice(0).forEach((response) => void response.end('let go')),
    stop: close,
  };
}

export type LimitedHost = Awaited<ReturnType<typeof startLimitedHost>>;
