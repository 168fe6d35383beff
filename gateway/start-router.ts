// Builds the router from its parts, in the order a request and a reader meet them.

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { localFiles } from '#lib/config/sources.ts';
import type { LoadedConfig } from '#lib/config/load.ts';
import type { Config } from '#lib/config/schema.ts';
import { connectRedis, outageNotice } from '#lib/redis/connect-redis.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { startRouterReconciler } from '../jobs/reconcile/index.ts';
import { createAccessLog } from './server/access-log.ts';
import { ClientAddresses } from './plugin-api/client-address.ts';
import type { RouterServices } from './plugin-api/plugin-api.ts';
import { expressMessages } from './server/express-messages.ts';
import { buildSnapshot } from './snapshots/build-snapshot.ts';
import type { ConfigSnapshot } from './snapshots/config-snapshot.ts';
import { Stops } from './snapshots/stops.ts';
import { GatewayHost } from './snapshots/gateway-host.ts';
import { type ServerLimits, startHttpServer } from './server/http-server.ts';
import { startOperations } from './operations/start-operations.ts';
import { Activity } from './operations/status/activity.ts';
import { Reloader } from './snapshots/reload/reloader.ts';
import { watchFiles } from './snapshots/reload/watch-files.ts';
import { tlsOf } from './server/tls.ts';

export interface RouterOptions {
  config: Config;
  log: Logger;
  /** The map; default `router.mapFile`. */
  gatewayConfigFile?: string;
  /** Reads the configuration anew for a reload; without it only the map is. */
  loadConfig?: () => Promise<Pick<LoadedConfig, 'config' | 'keepCopies'>>;
  /** Where errors nobody foresaw are reported. */
  reportError?: RouterServices['reportError'];
  /** Where spans go; nowhere when absent. */
  tracer?: RouterServices['tracer'];
  /** What `/metrics` shows; default a new one. */
  metrics?: Registry;
}

export interface Router {
  readonly url: string;
  readonly operationsUrl: string;
  /** Takes up what the files say now, or says in log, metrics and readiness why not. @param reason for the log */
  reload(reason: string): Promise<void>;
  /** Drains and stops; resolves when nothing of it is left. */
  stop(): Promise<void>;
}

const rootDir = fileURLToPath(new URL('..', import.meta.url));

/** @throws GatewayConfigError, or an Error that names a taken port; then nothing listens */
export async function startRouter(options: RouterOptions): Promise<Router> {
  const { config, log, reportError = () => undefined, tracer, metrics = new Registry() } = options;
  const gatewayConfigFile = options.gatewayConfigFile ?? resolve(rootDir, config['router.mapFile']);
  const url = config['redis.url'];
  const redis = url === undefined ? undefined : connectRedis({ url, log, metrics });
  const house = new GatewayHost({ config, log, metrics, tracer, reportError, redis });
  const { services, parts, knownFiles } = house;
  const stops = new Stops(log);
  try {
    const first = await buildSnapshot({ config, gatewayConfigFile, rootDir, house: services, parts, knownFiles });
    house.activate(first);
    const { operations, server } = await listen(house, first, stops);
    collectDefaultMetrics({ register: metrics });
    const definitions = () => house.definitions;
    const reconciler = startRouterReconciler({ config: house.config, definitions, metrics, log, redis });
    if (reconciler !== null) stops.add('reconciler', () => reconciler.stop());
    if (reconciler !== null && redis !== undefined)
      house.checks.addNotice('reconciler', outageNotice(redis, 'every router reconciles'));
    const loadConfig = options.loadConfig ?? (async () => ({ config, keepCopies: () => undefined }));
    const started = { config, gateway: first.gateway };
    const reloader = new Reloader({ house, started, loadConfig, gatewayConfigFile, rootDir });
    countGenerations(house, metrics);
    await watch(reloader, { gatewayConfigFile, config, stops });
    first.started();
    return {
      url: server.url,
      operationsUrl: operations.url,
      reload: (reason) => reloader.reload(reason),
      async stop() {
        await house.drain(house.config['router.shutdownDelayMs']);
        await Promise.all([server.stop(house.config['router.drainMs']), reloader.idle()]);
        await stops.run();
        await house.stop();
      },
    };
  } catch (error) {
    await stops.run();
    await house.stop();
    throw error;
  }
}

/** Both ports. */
async function listen(house: GatewayHost, { config, gateway }: ConfigSnapshot, stops: Stops) {
  const { log, metrics, tracer } = house.services;
  const activity = new Activity();
  const kindOf = (route: string) => house.kindOf(route);
  const operations = await startOperations({ config, readiness: house.readiness, metrics, activity, kindOf });
  stops.add('operations', () => operations.stop());
  const { hostname: host, port } = gateway.gatewayConfig.http;
  const accessLog = createAccessLog(log, metrics, { tracer, kindOf, ended: (request) => activity.note(request) });
  const limits = limitsOf(house.config);
  const { app } = house;
  const server = await startHttpServer({
    ...{ host, port, app, accessLog, metrics, limits },
    messages: expressMessages(app),
    clientAddresses: new ClientAddresses(() => house.config['router.trustedProxies']),
    refuseEarly: (request) => house.refuseEarly(request),
    tls: tlsOf(config, log),
  });
  house.onActivate(() => server.limitsChanged());
  return { operations, server };
}

/** Off without `reload.watchMs`. */
async function watch(
  reloader: Reloader,
  { gatewayConfigFile, config, stops }: { gatewayConfigFile: string; config: Config; stops: Stops },
): Promise<void> {
  const intervalMs = config['reload.watchMs'];
  if (intervalMs === 0) return;
  const files = [gatewayConfigFile, ...localFiles(config)];
  const changed = () => void reloader.reload('a file has changed');
  const watched = await watchFiles({ intervalMs, files: () => files, changed });
  stops.add('watch of files', () => watched.stop());
}

function countGenerations(house: GatewayHost, metrics: Registry): void {
  new Gauge({
    name: 'router_config_generations',
    help: 'Configurations that serve requests: the one in force, and those of before whose requests are not all answered',
    registers: [metrics],
    collect() {
      this.set(1 + house.retiring);
    },
  });
}

/** Read at each use: those of the configuration in force. */
function limitsOf(config: Config): ServerLimits {
  return {
    get maxConnections() {
      return config['router.maxConnections'];
    },
    get maxConnectionsPerAddress() {
      return config['router.maxConnectionsPerAddress'];
    },
    get headersTimeoutMs() {
      return config['router.headersTimeoutMs'];
    },
    get requestTimeoutMs() {
      return config['router.requestTimeoutMs'];
    },
    get keepAliveTimeoutMs() {
      return config['router.keepAliveTimeoutMs'];
    },
    get answerTimeoutMs() {
      return config['router.answerTimeoutMs'];
    },
  };
}
