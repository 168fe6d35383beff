// What a router has from its start to its end, whatever configuration is in force: see docs/operations.md, "Change without restart".
//
//   the house (this file, start-router.ts)          a generation (generation/): one for each configuration loaded
//   ports, connections, guard, access log           gateway.config.yml, plugins initialised with it
//   operations port, metrics, readiness             policies with their parameters, pipelines, method gate
//   the parts that plugins have kept:               the OpenAPI document
//     waits and parked polls, counts and limits,    its requests, to the end of the last one
//     circuit breakers, keys of the provider, …

import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import express, { type ErrorRequestHandler } from 'express';
import type { Registry } from 'prom-client';
import type { Definitions, KnownFiles } from '#lib/conductor/definitions/load-definitions.ts';
import type { Config } from '#lib/config/schema.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import { Problem } from '#lib/problem/problem.ts';
import { answerProblem } from '../server/answer-problem.ts';
import type { RouterServices } from '../plugin-api/plugin-api.ts';
import { type ActiveConfig, createActiveConfig } from './active-config.ts';
import type { ConfigSnapshot, HostServices } from './config-snapshot.ts';
import { SharedResources } from './shared-resources.ts';
import type { RouteKind } from '../plugin-api/gateway-routes.ts';
import { ReadinessChecks, RouterReadiness } from '../operations/readiness.ts';

/** After the last answer something may be under way still, such as a place that is given back in Redis. Milliseconds. */
const lingerMs = 1_000;

export interface GatewayHostOptions {
  /** What the router is started with. */
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly tracer: RouterServices['tracer'];
  readonly reportError: RouterServices['reportError'];
  /** Stopped with the house. */
  readonly redis?: RouterServices['redis'];
}

export class GatewayHost {
  readonly services: HostServices;
  readonly parts: SharedResources;
  /** Definition files as they were last read. */
  readonly knownFiles: KnownFiles = new Map();
  readonly readiness: RouterReadiness;
  /** Checks and notices of the house itself. */
  readonly checks = new ReadinessChecks();
  /** Hands each request to the generation in force. */
  readonly app: express.Express;
  readonly #inForce: ActiveConfig;
  readonly #draining = new AbortController();
  readonly #retiring = new Set<Promise<void>>();
  readonly #takes: (() => void)[] = [];
  #generation: ConfigSnapshot | undefined;

  constructor({ config, log, metrics, tracer, reportError, redis }: GatewayHostOptions) {
    this.#inForce = createActiveConfig(config);
    this.services = { log, metrics, tracer, reportError, redis, draining: this.#draining.signal };
    this.parts = new SharedResources({ ...this.services, config: this.#inForce.config });
    const own = () => [this.checks, ...this.parts.readiness];
    const sources = () => [...own(), ...(this.#generation ? [this.#generation.readiness] : [])];
    this.readiness = new RouterReadiness(sources, () => log.info('ready'));
    this.app = this.#createApp();
  }

  /** What the configuration in force refuses before anything is done for it. @throws Problem */
  refuseEarly(request: IncomingMessage): void {
    try {
      this.#generation?.refuseEarly(request);
    } catch (error) {
      if (error instanceof Problem) throw error;
      // Its pipeline will say what is wrong with it, if anything is.
      reportUnforeseen(this.services, error);
    }
  }

  /** The configuration in force, at each reading. */
  get config(): Config {
    return this.#inForce.config;
  }

  /** The definitions that were read with the configuration in force. */
  get definitions(): Definitions {
    return (this.#generation as ConfigSnapshot).definitions;
  }

  /** Configurations that still have a request under way, without the one in force. */
  get retiring(): number {
    return this.#retiring.size;
  }

  /** Whom a route of the configuration in force serves; `clients` for what is not routed. */
  kindOf(route: string): RouteKind {
    return this.#generation?.routeKinds.get(route) ?? 'clients';
  }

  /** Called in the moment a configuration takes over, from now on. Must not fail, must not wait. */
  onActivate(take: () => void): void {
    this.#takes.push(take);
  }

  /** The next request is the new one's. The old one finishes its own, and is stopped then. */
  activate(next: ConfigSnapshot): void {
    const old = this.#generation;
    this.#generation = next;
    this.#inForce.set(next.config);
    for (const take of this.#takes) take();
    next.activate();
    if (old === undefined) return;
    this.services.log.level = next.config['log.level'];
    const retired = this.#retire(old);
    this.#retiring.add(retired);
    void retired.finally(() => this.#retiring.delete(retired));
  }

  /**
   * Held connections are let go, and no configuration is taken up any more.
   * @param noticeMs how long everything but readiness goes on as before, in milliseconds
   */
  async drain(noticeMs: number): Promise<void> {
    await this.readiness.drain(noticeMs);
    this.#draining.abort();
  }

  /** Stops every generation, then what they share. Called once no request is under way. */
  async stop(): Promise<void> {
    await Promise.all(this.#retiring);
    await this.#generation?.stop();
    await this.services.redis?.stop();
  }

  async #retire(old: ConfigSnapshot): Promise<void> {
    await old.whenAnswered();
    await pause(lingerMs, undefined, { signal: this.#draining.signal, ref: false }).catch(() => undefined);
    await old.stop();
  }

  #createApp(): express.Express {
    const app = express();
    app.disable('x-powered-by');
    app.disable('etag');
    // Nothing here reads parsed queries: they pass as the text that was sent.
    app.set('query parser', false);
    app.use((request, response, next) => {
      const generation = this.#generation as ConfigSnapshot;
      generation.enter(response);
      generation.handler(request, response, next);
    });
    app.use(createErrorHandler(this.services));
    return app;
  }
}

type Services = Pick<RouterServices, 'log' | 'reportError'>;

/** The last handler: every thrown thing becomes a problem document, what nobody foresaw is logged and reported. */
function createErrorHandler(services: Services): ErrorRequestHandler {
  // Express tells an error handler by its four parameters.
  // eslint-disable-next-line max-params
  return function handleError(error: unknown, request, response, _next) {
    const problem = answerProblem(request, response, error);
    if (problem.code === 'internal-error') reportUnforeseen(services, problem.cause);
  };
}

function reportUnforeseen({ log, reportError }: Services, error: unknown): void {
  log.error({ ...errorFields(error), stack: (error as Error | undefined)?.stack }, 'a policy failed');
  reportError(error, { code: 'internal-error' });
}
