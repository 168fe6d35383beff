// A minimal router around the plugin: real HTTP on a free port, request contexts, problem documents, and nothing else.

import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import express from 'express';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { Config } from '#lib/config/schema.ts';
import { loadConfig } from '#lib/config/load.ts';
import {
  contextOf,
  type Policy,
  type ReadinessCheck,
  type RequestContext,
} from '../../../gateway/plugin-api/plugin-api.ts';
import { setContext } from '../../../gateway/plugin-api/request-context.ts';
import { respondWithProblem } from '../../../gateway/server/respond-with-problem.ts';
import { listenOnLoopback } from '../../../dev/loopback-server.ts';
import { SharedResources } from '../../../gateway/snapshots/shared-resources.ts';
import { type Clock, systemClock } from '../../../plugins/oauth2/clock.ts';
import { init } from '../../../plugins/oauth2/index.ts';

export interface PluginHostOptions {
  /** Configuration keys; all others have their defaults. */
  config: Record<string, string>;
  clock?: Clock;
  /** Policy and its parameters by path. A path behind `bearer` responds with the result of the policy. */
  routes?: Readonly<Record<string, { policy: 'bearer' | 'token'; parameters?: Record<string, unknown> }>>;
}

/** Header field in which a test sends the client address. */
export const addressHeader = 'x-client-address';

/** The routes of most tests. */
const usualRoutes: NonNullable<PluginHostOptions['routes']> = {
  '/token': { policy: 'token', parameters: { maxFailuresPerClient: 1000, maxFailuresPerAddress: 1000 } },
  '/conductor-token': { policy: 'token', parameters: { format: 'conductor' } },
  '/any': { policy: 'bearer' },
  '/write': { policy: 'bearer', parameters: { writeScope: 'sisdata_W' } },
  '/engine': {
    policy: 'bearer',
    parameters: { header: 'x-authorization', anyScope: ['conductor_worker', 'conductor_admin'] },
  },
  '/all': { policy: 'bearer', parameters: { scopes: ['one', 'two'] } },
};

/** Starts the plugin as the router does, through its `init` function. */
export async function startPluginHost({ config, clock = systemClock, routes = usualRoutes }: PluginHostOptions) {
  const loaded = await loadConfig({ env: { ...config } });
  const policies = new Map<string, Policy>();
  const checks: ReadinessCheck[] = [];
  const stops: (() => void | Promise<void>)[] = [];
  const logLines: string[] = [];
  const metrics = new Registry();
  const log = pino({ level: 'trace' }, { write: (line: string) => logLines.push(line) });
  const draining = new AbortController().signal;
  const parts = new SharedResources({ config: loaded.config, log, metrics, draining });
  stops.push(() => parts.release(parts));
  init(
    {
      settings: {},
      registerPolicy: (policy) => policies.set(policy.name, policy),
      services: {
        config: loaded.config as Config,
        definitions: { workflows: [], taskDefs: [], eventHandlers: [] },
        log,
        metrics,
        share: (name, from, make) => parts.use(parts, { name, from }, make),
        addActivationCheck: () => undefined,
        onActivate: () => undefined,
        addReadinessNotice: () => undefined,
        onStarted: () => undefined,
        addReadinessCheck: (_name, check) => checks.push(check),
        onStop: (_name, stop) => stops.push(stop),
        reportError: () => undefined,
        routes: [],
        get document(): never {
          throw new Error('no policy of this plugin reads the document');
        },
        draining,
      },
    },
    clock,
  );
  const contexts: RequestContext[] = [];
  const { url, close } = await listenOnLoopback(createServer(createApp(routes, { policies, contexts })));
  return {
    url,
    metrics,
    /** All lines that the plugin logged. */
    logLines,
    /** Contexts of the requests so far, in order. */
    contexts,
    /** Returns the reasons why `/health/ready` would not be 200. */
    readiness: async () => (await Promise.all(checks.map((check) => check()))).flat(),
    async stop() {
      await close();
      for (const stop of stops) await stop();
    },
  };
}

export type PluginHost = Awaited<ReturnType<typeof startPluginHost>>;

function createApp(
  routes: NonNullable<PluginHostOptions['routes']>,
  { policies, contexts }: { policies: ReadonlyMap<string, Policy>; contexts: RequestContext[] },
): express.Express {
  const app = express();
  app.disable('x-powered-by');
  app.use((request, _response, next) => {
    const clientAddress = request.get(addressHeader) ?? request.socket.remoteAddress ?? '';
    const context: RequestContext = { requestId: randomUUID(), clientAddress, route: request.path };
    contexts.push(context);
    setContext(request, context);
    next();
  });
  for (const [path, { policy, parameters = {} }] of Object.entries(routes)) {
    const handler = policies.get(policy)?.policy(parameters as never, 'step');
    if (handler === undefined) throw new Error(`no policy ${policy}`);
    app.all(path, (request, response, next) => {
      Promise.resolve(handler(request, response, next)).catch((error: unknown) => {
        // An unexpected error is a fault of the plugin, so it is printed.
        if (respondWithProblem(request, response, error).code === 'internal-error') console.error(error);
      });
    });
    app.all(path, (request, response) => {
      const { clientId, scopes } = contextOf(request);
      const { headers, rawHeaders, headersDistinct } = request;
      response.json({ clientId, scopes: [...(scopes ?? [])], headers, rawHeaders, headersDistinct });
    });
  }
  return app;
}
