// The plugin API: Express Gateway's plugin contract with types, and the services that the router offers to plugins.

import type { Registry } from 'prom-client';
import type { Definitions } from '#lib/conductor/definitions/load-definitions.ts';
import type { Config } from '#lib/config/schema.ts';
import type { OpenApiDocument } from '#lib/openapi/openapi.ts';
import type { Redis } from '#lib/redis/redis.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import type { Tracer } from '#lib/telemetry/tracing/tracer.ts';
import type { GatewayRoute } from './gateway-routes.ts';
import type { Policy, PolicyDeclaration } from './policy.ts';

export * from './policy.ts';
export { contextOf, type RequestContext } from './request-context.ts';

/** A readiness check. Resolves to the reasons why the router is not ready, or to an empty list when it is ready. */
export type ReadinessCheck = () => Promise<readonly string[]>;

/** A readiness notice. Returns lines for operators, or an empty list; the lines do not affect readiness. */
export type ReadinessNotice = () => readonly string[];

/** Services for a shared resource, which can outlive a reload. */
export interface SharedServices {
  /** Returns the active configuration on each access. Do not cache values across a reload. */
  readonly config: Config;
  readonly log: Logger;
  /** Registry behind `/metrics`; metrics registered here are removed with the resource. */
  readonly metrics: Registry;
  readonly tracer?: Tracer | undefined;
  readonly redis?: Redis | undefined;
  readonly draining: AbortSignal;
  addReadinessCheck(name: string, check: ReadinessCheck): void;
  addReadinessNotice(name: string, notice: ReadinessNotice): void;
  /**
   * Adds a stop function. Stop functions are called in reverse order of registration when the last snapshot that uses
   * the resource stops.
   */
  onStop(name: string, stop: () => void | Promise<void>): void;
}

/**
 * Router services for plugins. Each reload initialises the plugins again; state that must survive a reload
 * (connections, counters, held requests, metrics) belongs in {@link share}.
 */
export interface RouterServices {
  /** The configuration of this snapshot. It might not be active yet, or might no longer be active. */
  readonly config: Config;
  /** The workflow definitions that were read with this configuration. */
  readonly definitions: Definitions;
  readonly log: Logger;
  /** Prometheus registry behind `/metrics`. */
  readonly metrics: Registry;
  /** Creates spans; absent when tracing is off. */
  readonly tracer?: Tracer | undefined;
  /** The Redis connection of the router; absent without `redis.url`. */
  readonly redis?: Redis | undefined;
  /**
   * Returns a resource that snapshots share. It is created for the first snapshot that uses it, and stopped after the
   * last one.
   * @param name unique in the router
   * @param from inputs of the resource: different inputs yield different resources. Empty for a resource that reads the
   *   active configuration
   * @param make creates the resource, synchronously
   * @throws Error when this configuration has been stopped, such as in an `init` that runs past its deadline
   */
  share<T>(name: string, from: readonly unknown[], make: (services: SharedServices) => T): T;
  /**
   * Adds a check that must pass before a reload activates this configuration. It has a minute to pass, and does not run
   * when the router starts.
   */
  addActivationCheck(name: string, check: ReadinessCheck): void;
  /**
   * Adds a listener that is called when this configuration becomes active, including when the router starts. The
   * listener must be synchronous and must not throw.
   */
  onActivate(listener: () => void): void;
  /** Adds a check to `/health/ready`. */
  addReadinessCheck(name: string, check: ReadinessCheck): void;
  /** Adds a notice to `/health/ready`. */
  addReadinessNotice(name: string, notice: ReadinessNotice): void;
  /** Adds a listener that is called once the router is listening; never called for a reloaded configuration. */
  onStarted(listener: () => void): void;
  /**
   * Adds a stop function. Stop functions are called in reverse order of registration, after the last request of this
   * configuration. If the configuration has already been stopped, the function is called at once. The router waits at
   * most a minute for each function.
   */
  onStop(name: string, stop: () => void | Promise<void>): void;
  /** Reports an unexpected error to the error tracker. Never pass personal data. */
  reportError(error: unknown, fields: Record<string, string>): void;
  /** The routes of this configuration, with validated parameters. */
  readonly routes: readonly GatewayRoute[];
  /** The OpenAPI document of every route. */
  readonly document: OpenApiDocument;
  /** Aborted when the router begins to drain: held requests should end. */
  readonly draining: AbortSignal;
}

/** Argument of a plugin's `init`. */
export interface PluginContext {
  /** The plugin's settings in gateway.config.yml. */
  readonly settings: Record<string, unknown>;
  readonly services: RouterServices;
  registerPolicy(policy: Policy): void;
}

/** The exports of `plugins/<plugin>/index.ts`. */
export interface Plugin {
  readonly version: string;
  /** The policies that `init` registers. */
  readonly policies: readonly PolicyDeclaration[];
  /** Registers the policies of one configuration. During a reload, it fails if it takes more than a minute. */
  init(context: PluginContext): void | Promise<void>;
}
