// Builds the router from its parts, in the order a request and a reader meet them.

import { fileURLToPath } from 'node:url';
import express, { type ErrorRequestHandler } from 'express';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Config } from '../config/schema.ts';
import { errorFields, type Logger } from '../logging/log.ts';
import { startRouterReconciler } from '../reconciler/index.ts';
import { createAccessLog } from './access-log.ts';
import type { RouterServices } from './contract.ts';
import { answerProblem } from './answer-problem.ts';
import { RouterDocument } from './router-document.ts';
import { expressMessages } from './express-messages.ts';
import { type ServerLimits, startHttpServer } from './http-server.ts';
import { GatewayConfigError, loadGatewayConfig } from './load-gateway-config.ts';
import { importPlugins, initPlugins } from './load-plugins.ts';
import { mountPipelines } from './mount-pipelines.ts';
import { createMethodGate, createNotRouted } from './not-routed.ts';
import { ReadinessChecks } from './operations/readiness.ts';
import { startOperations } from './operations/start-operations.ts';
import { Activity } from './operations/status/activity.ts';
import { tlsOf } from './tls.ts';

export interface RouterOptions {
  config: Config;
  log: Logger;
  /** The map; default `gateway.config.yml` at the root. */
  gatewayConfigFile?: string;
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
  /** Drains and stops; resolves when nothing of it is left. */
  stop(): Promise<void>;
}

const rootDir = fileURLToPath(new URL('..', import.meta.url));

/** @throws GatewayConfigError, or an Error that names a taken port; then nothing listens */
export async function startRouter(options: RouterOptions): Promise<Router> {
  const { config, log, gatewayConfigFile = `${rootDir}gateway.config.yml`, reportError = () => undefined } = options;
  const { tracer, metrics = new Registry() } = options;
  const gatewayConfig = loadGatewayConfig(gatewayConfigFile, config);
  const imported = await importPlugins(gatewayConfig, rootDir);
  if (imported.problems.length > 0) throw new GatewayConfigError(gatewayConfigFile, imported.problems);

  const readiness = new ReadinessChecks();
  const draining = new AbortController();
  const stops: Stop[] = [];
  const startedHooks: (() => void)[] = [];
  const stopPlugins = () => stopInReverse(stops.splice(0), log);
  const document = new RouterDocument();
  const services: RouterServices = {
    config,
    log,
    metrics,
    tracer,
    reportError,
    document: () => document.read(),
    draining: draining.signal,
    addReadinessCheck: (name, check) => readiness.add(name, check),
    addReadinessNotice: (name, notice) => readiness.addNotice(name, notice),
    onStarted: (started) => startedHooks.push(started),
    onStop: (name, stop) => stops.push({ name, stop }),
  };
  try {
    const { policies, steps, problems } = await initPlugins(gatewayConfig, imported, services);
    if (problems.length > 0) throw new GatewayConfigError(gatewayConfigFile, problems);
    document.describe(gatewayConfig, steps, policies);
    const app = createApp();
    const pipelines = await mountPipelines(gatewayConfig, steps, policies);
    app.use(createMethodGate(gatewayConfig), pipelines, createNotRouted(gatewayConfig), createErrorHandler(services));
    const activity = new Activity();
    const operations = await startOperations({ config, readiness, metrics, activity });
    stops.push({ name: 'operations', stop: () => operations.stop() });
    const { hostname: host, port } = gatewayConfig.http;
    const accessLog = createAccessLog(log, metrics, { tracer, ended: (request) => activity.note(request) });
    const messages = expressMessages(app);
    const limits = limitsOf(config);
    const tls = tlsOf(config, log);
    const server = await startHttpServer({ host, port, app, messages, accessLog, metrics, limits, tls });
    collectDefaultMetrics({ register: metrics });
    const reconciler = startRouterReconciler({ config, metrics, log });
    if (reconciler !== null) stops.push({ name: 'reconciler', stop: () => reconciler.stop() });
    for (const started of startedHooks) started();
    return {
      url: server.url,
      operationsUrl: operations.url,
      async stop() {
        await readiness.drain(config['router.shutdownDelayMs']);
        draining.abort();
        await server.stop(config['router.drainMs']);
        await stopPlugins();
      },
    };
  } catch (error) {
    await stopPlugins();
    throw error;
  }
}

/** Something to be stopped once the last request has been answered. */
interface Stop {
  readonly name: string;
  readonly stop: () => void | Promise<void>;
}

async function stopInReverse(stops: readonly Stop[], log: Logger): Promise<void> {
  for (const { name, stop } of stops.toReversed()) {
    await Promise.resolve(stop()).catch((error: unknown) =>
      log.error({ name, ...errorFields(error) }, 'did not stop cleanly'),
    );
  }
}

function limitsOf(config: Config): ServerLimits {
  return {
    maxConnections: config['router.maxConnections'],
    maxConnectionsPerAddress: config['router.maxConnectionsPerAddress'],
    headersTimeoutMs: config['router.headersTimeoutMs'],
    requestTimeoutMs: config['router.requestTimeoutMs'],
    keepAliveTimeoutMs: config['router.keepAliveTimeoutMs'],
    answerTimeoutMs: config['router.answerTimeoutMs'],
  };
}

function createApp(): express.Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  // Nothing here reads parsed queries: they pass as the text that was sent.
  app.set('query parser', false);
  return app;
}

/** The last handler: every thrown thing becomes a problem document, what nobody foresaw is logged and reported. */
function createErrorHandler({ log, reportError }: RouterServices): ErrorRequestHandler {
  // Express tells an error handler by its four parameters.
  // eslint-disable-next-line max-params
  return function handleError(error: unknown, request, response, _next) {
    const problem = answerProblem(request, response, error);
    if (problem.code !== 'internal-error') return;
    const stack = (problem.cause as Error | undefined)?.stack;
    log.error({ ...errorFields(problem.cause), stack }, 'a policy failed');
    reportError(problem.cause, { code: problem.code });
  };
}
