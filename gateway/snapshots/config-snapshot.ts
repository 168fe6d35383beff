// A configuration snapshot: one loaded configuration with its plugins and pipelines. It lives until its last request
// has ended.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import type { Definitions } from '#lib/conductor/definitions/load-definitions.ts';
import type { Config } from '#lib/config/schema.ts';
import { withDeadline } from '#lib/process/deadline.ts';
import type { RouterServices } from '../plugin-api/plugin-api.ts';
import { kindOf, type RouteKind } from '../plugin-api/gateway-routes.ts';
import { ReadinessChecks } from '../operations/readiness.ts';
import { pluginDeadlineMs } from '../configuration/load-plugins.ts';
import type { Gateway } from '../configuration/validate-gateway.ts';
import type { SharedResources } from './shared-resources.ts';
import { Stops } from './stops.ts';

/** Services of the gateway host that all snapshots share. */
export type HostServices = Pick<RouterServices, 'log' | 'metrics' | 'tracer' | 'reportError' | 'redis' | 'draining'>;

/** Options of {@link ConfigSnapshot}. */
export interface ConfigSnapshotOptions {
  readonly config: Config;
  readonly gateway: Gateway;
  readonly definitions: Definitions;
  readonly hostServices: HostServices;
  readonly sharedResources: SharedResources;
}

/**
 * One loaded configuration and everything that is built from it. Each request is served by the snapshot that was active
 * when the request arrived.
 */
export class ConfigSnapshot {
  readonly config: Config;
  readonly gateway: Gateway;
  readonly definitions: Definitions;
  /** Kind of each route, by route name. */
  readonly routeKinds: ReadonlyMap<string, RouteKind>;
  readonly readiness = new ReadinessChecks();
  /** Services for the plugins of this snapshot. */
  readonly services: RouterServices;
  /** Express handler of the pipelines; set once they are mounted. */
  handler: RequestHandler = (_request, _response, next) => next();
  /** Rejects a request before its pipeline runs; set once the pipelines are mounted. @throws Problem */
  shedLoad: (request: IncomingMessage) => void = () => undefined;
  readonly #sharedResources: SharedResources;
  readonly #stops: Stops;
  readonly #activationChecks = new ReadinessChecks();
  readonly #activationListeners: (() => void)[] = [];
  readonly #startListeners: (() => void)[] = [];
  #isStopped = false;
  #inFlight = 0;
  #onIdle: (() => void) | undefined;

  constructor({ config, gateway, definitions, hostServices, sharedResources }: ConfigSnapshotOptions) {
    this.config = config;
    this.gateway = gateway;
    this.definitions = definitions;
    this.routeKinds = new Map(gateway.routes.map((route) => [route.name, kindOf(route)]));
    this.#sharedResources = sharedResources;
    this.#stops = new Stops(hostServices.log);
    this.services = {
      ...hostServices,
      ...{ config, definitions, routes: gateway.routes, document: gateway.document },
      share: (name, from, make) => {
        // The caller is a plugin whose `init` ran past its deadline: nothing would release the resource.
        if (this.#isStopped) throw new Error('this configuration has been stopped');
        return sharedResources.use(this, { name, from }, make);
      },
      addActivationCheck: (name, check) =>
        this.#activationChecks.add(name, () => withDeadline('the activation check', pluginDeadlineMs, check())),
      onActivate: (listener) => this.#activationListeners.push(listener),
      onStarted: (listener) => this.#startListeners.push(listener),
      addReadinessCheck: (name, check) => this.readiness.add(name, check),
      addReadinessNotice: (name, notice) => this.readiness.addNotice(name, notice),
      onStop: (name, stop) => this.#stops.add(name, stop),
    };
  }

  /**
   * Runs the activation checks.
   * @returns the reasons not to activate this snapshot, one line each; empty when there are none
   */
  async activationProblems(): Promise<string[]> {
    const results = await this.#activationChecks.reasons();
    return results.flatMap(([name, reasons]) => reasons.map((reason) => `${name}: ${reason}`));
  }

  /** Notifies the plugins that this snapshot is active. */
  activate(): void {
    for (const listener of this.#activationListeners) listener();
  }

  /** Notifies the plugins that the router is listening. Called on the first snapshot only. */
  started(): void {
    for (const listener of this.#startListeners) listener();
  }

  /** Counts a request as in flight until its response has closed. */
  trackRequest(response: ServerResponse): void {
    this.#inFlight += 1;
    response.once('close', () => {
      this.#inFlight -= 1;
      if (this.#inFlight === 0) this.#onIdle?.();
    });
  }

  /** Resolves when no request is in flight. Call it once the snapshot receives no new requests. */
  async whenIdle(): Promise<void> {
    if (this.#inFlight === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onIdle = resolve;
    await promise;
  }

  /** Stops the plugins, then the shared resources that no other snapshot uses. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#stops.run();
    await this.#sharedResources.release(this);
  }
}
