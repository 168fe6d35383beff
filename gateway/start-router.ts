// The composition root of the router: builds the servers, the first configuration snapshot, the reconciler and the
// reloader.

import { resolve } from 'node:path';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { observeGauge } from '#lib/telemetry/observed-gauge.ts';
import { gatewayDir } from '#lib/config/folders.ts';
import type { LoadedConfig } from '#lib/config/load.ts';
import type { Config } from '#lib/config/schema.ts';
import { registerDropMetric } from '#lib/records/report-dropped.ts';
import { connectRedis, outageNotice } from '#lib/redis/connect-redis.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { startRouterReconciler } from '../jobs/reconcile/index.ts';
import { createAccessLog, type EndedRequest } from './server/access-log.ts';
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
import { digestsOf, type FileDigests, watchFiles } from '#lib/process/watch-files.ts';
import { tlsOf } from './server/tls.ts';

/** Options of {@link startRouter}. */
export interface RouterOptions {
  config: Config;
  log: Logger;
  /** Path of the gateway configuration; default `router.gatewayConfigFile`. */
  gatewayConfigFile?: string;
  /**
   * Loads the configuration again for a reload; gives up when the signal aborts. Without this function, a reload reads
   * only the gateway configuration again.
   */
  loadConfig?: (signal: AbortSignal) => Promise<Omit<LoadedConfig, 'origins'>>;
  /** Local property files to watch, with their digests from before `config` was loaded; default: none. */
  localFiles?: FileDigests;
  /** Reports unexpected errors to the error tracker; default: no reports. */
  reportError?: RouterServices['reportError'];
  /** Creates spans; without it, tracing is off. */
  tracer?: RouterServices['tracer'];
  /** Registry behind `/metrics`; default: a new registry. */
  metrics?: Registry;
}

/** A running router. */
export interface Router {
  /** Base URL of the public port. */
  readonly url: string;
  /** Base URL of the operations port. */
  readonly operationsUrl: string;
  /**
   * Reloads the configuration. A configuration with errors is rejected: the log, the metrics and `/health/ready` say
   * why.
   * @param reason reason for the reload, for the log
   */
  reload(reason: string): Promise<void>;
  /** Drains and stops the router; resolves when all resources are released. */
  stop(): Promise<void>;
  /** Returns the longest time for which `stop` waits for load balancers and for requests in flight, in milliseconds. */
  drainMs(): number;
}

/**
 * Starts the router.
 * @throws GatewayConfigError when the gateway configuration is invalid; Error that names the address when a port cannot
 *   be bound. In either case, both ports are closed
 */
export async function startRouter(options: RouterOptions): Promise<Router> {
  const { config, log, reportError = () => undefined, tracer, metrics = new Registry() } = options;
  const rootDir = gatewayDir();
  const gatewayConfigFile = options.gatewayConfigFile ?? resolve(rootDir, config['router.gatewayConfigFile']);
  // The digests are computed before the file is read, so that a change during startup is applied afterwards.
  const known = new Map([...(await digestsOf([gatewayConfigFile])), ...(options.localFiles ?? [])]);
  const url = config['redis.url'];
  const redis = url === undefined ? undefined : await connectRedis({ url, log, metrics });
  if (redis !== undefined) registerDropMetric(metrics);
  const gatewayHost = new GatewayHost({ config, log, metrics, tracer, reportError, redis });
  const { services, sharedResources, knownFiles } = gatewayHost;
  const stops = new Stops(log);
  try {
    const inputs = { config, gatewayConfigFile, rootDir, knownFiles };
    const first = await buildSnapshot({ ...inputs, hostServices: services, sharedResources });
    gatewayHost.activate(first);
    const { operations, server } = await listen(gatewayHost, first, stops);
    collectDefaultMetrics({ register: metrics });
    const definitions = () => gatewayHost.definitions;
    const reconciler = startRouterReconciler({ config: gatewayHost.config, definitions, metrics, log, redis });
    if (reconciler !== null) stops.add('reconciler', () => reconciler.stop());
    if (reconciler !== null && redis !== undefined)
      gatewayHost.checks.addNotice('reconciler', outageNotice(redis, 'every router reconciles'));
    await startUpdates(gatewayHost, stops);
    const loadConfig = options.loadConfig ?? (async () => ({ config, warnings: [], keepCopies: () => undefined }));
    const started = { config, gateway: first.gateway };
    const reloader = new Reloader({ gatewayHost, started, loadConfig, gatewayConfigFile, rootDir });
    registerSnapshotGauge(gatewayHost, metrics);
    await reloadOnChange(reloader, { known, intervalMs: config['reload.watchMs'], stops });
    first.started();
    return {
      url: server.url,
      operationsUrl: operations.url,
      reload: (reason) => reloader.reload(reason),
      async stop() {
        await gatewayHost.drain(gatewayHost.config['router.shutdownDelayMs']);
        const drainMs = gatewayHost.config['router.drainMs'];
        await Promise.all([server.stop(drainMs), reloader.idle(drainMs)]);
        await stops.run();
        await gatewayHost.stop();
      },
      drainMs: () => gatewayHost.config['router.shutdownDelayMs'] + gatewayHost.config['router.drainMs'],
    };
  } catch (error) {
    await stops.run();
    await gatewayHost.stop();
    throw error;
  }
}

/** Starts the operations server and the public server. */
async function listen(gatewayHost: GatewayHost, { config, gateway }: ConfigSnapshot, stops: Stops) {
  const { log, metrics, tracer } = gatewayHost.services;
  const activity = new Activity();
  const kindOf = (route: string) => gatewayHost.kindOf(route);
  const operations = await startOperations({
    ...{ config, log, readiness: gatewayHost.readiness, metrics, activity, kindOf },
    executionRoutes: () => gatewayHost.executionRoutes,
    definitions: () => gatewayHost.definitions,
  });
  stops.add('operations', () => operations.stop());
  const { hostname: host, port } = gateway.gatewayConfig.http;
  const onRequestEnd = (request: EndedRequest) => activity.record(request);
  const accessLog = createAccessLog(log, metrics, { tracer, kindOf, onRequestEnd });
  const limits = serverLimits(gatewayHost.config);
  const { app } = gatewayHost;
  const server = await startHttpServer({
    ...{ host, port, app, accessLog, metrics, limits },
    messages: expressMessages(app),
    clientAddresses: new ClientAddresses(() => gatewayHost.config['router.trustedProxies']),
    shedLoad: (request) => gatewayHost.shedLoad(request),
    tls: tlsOf(config, log),
  });
  // Needed only if startup fails later: a running router has drained the server before its stop functions run.
  stops.add('public server', () => server.stop(0));
  gatewayHost.onActivate(() => server.applyLimits());
  return { operations, server };
}

/** Starts to consume MDM updates if a broker is configured; otherwise, the broker's client library is not loaded. */
async function startUpdates(gatewayHost: GatewayHost, stops: Stops): Promise<void> {
  const { config, services } = gatewayHost;
  const url = config['mdm.updateQueueURL'];
  if (url === undefined) return;
  const { startMdmUpdates } = await import('../jobs/mdm-updates/index.ts');
  const { metrics, log, redis } = services;
  const definitions = () => gatewayHost.definitions;
  const updates = startMdmUpdates({ config, definitions, metrics, log, redis }, url);
  gatewayHost.checks.addNotice('mdm-updates', () => updates.notice());
  stops.add("MDM's updates", () => updates.stop());
}

/**
 * Reloads when a known file changes; repeats a reload that could not fetch a remote file. Does nothing if `intervalMs`
 * is 0.
 */
async function reloadOnChange(
  reloader: Reloader,
  { known, intervalMs, stops }: { known: FileDigests; intervalMs: number; stops: Stops },
): Promise<void> {
  if (intervalMs === 0) return;
  const files = [...known.keys()];
  const onChange = () => void reloader.reload('a file has changed');
  const onNoChange = () => void reloader.repeatAfterOutage();
  const watcher = await watchFiles({ intervalMs, files: () => files, known, onChange, onNoChange });
  stops.add('file watcher', () => watcher.stop());
}

function registerSnapshotGauge(gatewayHost: GatewayHost, metrics: Registry): void {
  const help = 'Configuration snapshots that exist: the active one, and previous ones that have not been stopped yet';
  observeGauge(metrics, { name: 'router_config_snapshots', help }, () => 1 + gatewayHost.retiring);
}

/**
 * Returns the server limits. Getters read the active configuration at each access, so that a reload changes the limits.
 */
function serverLimits(config: Config): ServerLimits {
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
    get responseTimeoutMs() {
      return config['router.responseSendTimeoutMs'];
    },
  };
}
