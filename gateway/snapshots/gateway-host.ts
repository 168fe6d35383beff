// The gateway host: owns the resources that outlive a reload, and dispatches each request to the active configuration
// snapshot. docs/how-to/change-configuration-without-a-restart.md describes a reload.
//
//   gateway host (this file, start-router.ts)       configuration snapshot (config-snapshot.ts), one for each load
//   ports, connections, request guard, access log   gateway.config.yml, plugins initialised with it
//   operations port, metrics, readiness             policies with their parameters, pipelines, method gate
//   shared resources of plugins: held polls,        the OpenAPI document
//     completion waiters, limits, circuit           its requests, until the last one has ended
//     breakers, keys of the identity provider, …

import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import express, { type ErrorRequestHandler } from 'express';
import type { Registry } from 'prom-client';
import type { Definitions, KnownFiles } from '#lib/conductor/definitions/load-definitions.ts';
import type { Config } from '#lib/config/schema.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { Problem } from '#lib/problem/problem.ts';
import { respondWithProblem } from '../server/respond-with-problem.ts';
import type { RouterServices } from '../plugin-api/plugin-api.ts';
import { type ActiveConfig, createActiveConfig } from './active-config.ts';
import type { ConfigSnapshot, HostServices } from './config-snapshot.ts';
import { SharedResources } from './shared-resources.ts';
import { type RouteKind, routesWith } from '../plugin-api/gateway-routes.ts';
import { ReadinessChecks, RouterReadiness } from '../operations/readiness.ts';
import { type FailureReporter, reportFailure } from '../pipelines/report-failure.ts';

/**
 * Delay before a retired snapshot is stopped, in milliseconds. Cleanup work, such as releasing a permit in Redis, may
 * still be pending.
 */
const lingerMs = 1_000;

/** Options of {@link GatewayHost}. */
export interface GatewayHostOptions {
  /** The configuration that the router starts with. */
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly tracer: RouterServices['tracer'];
  readonly reportError: RouterServices['reportError'];
  /** The Redis connection of the router; closed by {@link GatewayHost.stop}. */
  readonly redis?: RouterServices['redis'];
}

/** Owns the resources that outlive a reload, and switches requests to a new snapshot. */
export class GatewayHost {
  readonly services: HostServices;
  readonly sharedResources: SharedResources;
  /** Cache of definition files, by path. */
  readonly knownFiles: KnownFiles = new Map();
  readonly readiness: RouterReadiness;
  /** Readiness checks and notices that belong to no snapshot. */
  readonly checks = new ReadinessChecks();
  /** Express application that dispatches each request to the active snapshot. */
  readonly app: express.Express;
  readonly #activeConfig: ActiveConfig;
  readonly #draining = new AbortController();
  readonly #retiring = new Set<Promise<void>>();
  readonly #activationListeners: (() => void)[] = [];
  #snapshot: ConfigSnapshot | undefined;

  constructor({ config, log, metrics, tracer, reportError, redis }: GatewayHostOptions) {
    this.#activeConfig = createActiveConfig(config);
    this.services = { log, metrics, tracer, reportError, redis, draining: this.#draining.signal };
    this.sharedResources = new SharedResources({ ...this.services, config: this.#activeConfig.config });
    const own = () => [this.checks, ...this.sharedResources.readiness];
    const sources = () => [...own(), ...(this.#snapshot ? [this.#snapshot.readiness] : [])];
    this.readiness = new RouterReadiness(sources, () => log.info('ready'));
    this.app = this.#createApp();
  }

  /** Rejects a request before its pipeline runs, when a policy of the active snapshot sheds load. @throws Problem */
  shedLoad(request: IncomingMessage): void {
    try {
      this.#snapshot?.shedLoad(request);
    } catch (error) {
      if (error instanceof Problem) throw error;
      // An unexpected error must not reject the request: the pipeline decides.
      reportFailure(this.services, request, { error, message: policyFailed });
    }
  }

  /** Returns the active configuration on each access. Do not cache values across a reload. */
  get config(): Config {
    return this.#activeConfig.config;
  }

  /** Definitions of the active snapshot. Must not be read before the first `activate`. */
  get definitions(): Definitions {
    return (this.#snapshot as ConfigSnapshot).definitions;
  }

  /** Number of previous snapshots that have not been stopped yet. */
  get retiring(): number {
    return this.#retiring.size;
  }

  /** Kind of a route of the active snapshot; `clients` when the route is unknown. */
  kindOf(route: string): RouteKind {
    return this.#snapshot?.routeKinds.get(route) ?? 'clients';
  }

  /** Names of the routes of the active snapshot that start executions. */
  get executionRoutes(): readonly string[] {
    return routesWith((this.#snapshot as ConfigSnapshot).gateway.routes, 'workflow').map(({ name }) => name);
  }

  /** Adds a listener that is called at each activation of a snapshot. It must be synchronous and must not throw. */
  onActivate(listener: () => void): void {
    this.#activationListeners.push(listener);
  }

  /** Makes a snapshot the active one. The previous snapshot finishes its requests and is then stopped. */
  activate(next: ConfigSnapshot): void {
    const previous = this.#snapshot;
    this.#snapshot = next;
    this.#activeConfig.set(next.config);
    for (const listener of this.#activationListeners) listener();
    next.activate();
    if (previous === undefined) return;
    this.services.log.level = next.config['log.level'];
    const retired = this.#retire(previous);
    this.#retiring.add(retired);
    void retired.finally(() => this.#retiring.delete(retired));
  }

  /**
   * Reports `not ready`, then ends held polls and other held requests. Reloads are ignored from then on.
   * @param noticeMs time between the two steps, in milliseconds, during which load balancers stop sending requests
   */
  async drain(noticeMs: number): Promise<void> {
    await this.readiness.drain(noticeMs);
    this.#draining.abort();
  }

  /**
   * Stops all snapshots, all shared resources (including those that a hanging reload still uses) and the Redis
   * connection. Call it once no request is in flight.
   */
  async stop(): Promise<void> {
    await Promise.all(this.#retiring);
    await this.#snapshot?.stop();
    await this.sharedResources.stop();
    await this.services.redis?.stop();
  }

  async #retire(previous: ConfigSnapshot): Promise<void> {
    await previous.whenIdle();
    await pause(lingerMs, undefined, { signal: this.#draining.signal, ref: false }).catch(() => undefined);
    await previous.stop();
  }

  #createApp(): express.Express {
    const app = express();
    app.disable('x-powered-by');
    app.disable('etag');
    // The router forwards the query string unchanged and never reads parsed query parameters.
    app.set('query parser', false);
    app.use((request, response, next) => {
      const snapshot = this.#snapshot as ConfigSnapshot;
      snapshot.trackRequest(response);
      snapshot.handler(request, response, next);
    });
    app.use(createErrorHandler(this.services));
    return app;
  }
}

const policyFailed = 'a policy failed';

/** The Express error handler: responds with a problem document; logs and reports unexpected errors. */
function createErrorHandler(services: FailureReporter): ErrorRequestHandler {
  // Express recognises an error handler by its four parameters.
  // oxlint-disable-next-line max-params
  return function handleError(error: unknown, request, response, _next) {
    const problem = respondWithProblem(request, response, error);
    if (problem.code === 'internal-error')
      reportFailure(services, request, { error: problem.cause, message: policyFailed });
  };
}
