// One configuration of the router and everything built from it: from its first request to the end of its last.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import type { Definitions } from '#lib/conductor/definitions/load-definitions.ts';
import type { Config } from '#lib/config/schema.ts';
import type { RouterServices } from '../plugin-api/plugin-api.ts';
import { kindOf, type RouteKind } from '../plugin-api/gateway-routes.ts';
import { ReadinessChecks } from '../operations/readiness.ts';
import type { Gateway } from '../configuration/validate-gateway.ts';
import type { SharedResources } from './shared-resources.ts';
import { Stops } from './stops.ts';

/** What is the same in every generation. */
export type HostServices = Pick<RouterServices, 'log' | 'metrics' | 'tracer' | 'reportError' | 'redis' | 'draining'>;

export interface ConfigSnapshotOptions {
  readonly config: Config;
  readonly gateway: Gateway;
  readonly definitions: Definitions;
  readonly house: HostServices;
  readonly parts: SharedResources;
}

export class ConfigSnapshot {
  readonly config: Config;
  readonly gateway: Gateway;
  readonly definitions: Definitions;
  /** By the names of its routes. */
  readonly routeKinds: ReadonlyMap<string, RouteKind>;
  readonly readiness = new ReadinessChecks();
  /** What its plugins get. */
  readonly services: RouterServices;
  /** Its pipelines; set once they are mounted. */
  handler: RequestHandler = (_request, _response, next) => next();
  /** Refuses requests before they come to it; set once they are known. @throws Problem */
  refuseEarly: (request: IncomingMessage) => void = () => undefined;
  readonly #parts: SharedResources;
  readonly #stops: Stops;
  readonly #takeOverChecks = new ReadinessChecks();
  readonly #takes: (() => void)[] = [];
  readonly #startedHooks: (() => void)[] = [];
  #requests = 0;
  #lastAnswered: (() => void) | undefined;

  constructor({ config, gateway, definitions, house, parts }: ConfigSnapshotOptions) {
    this.config = config;
    this.gateway = gateway;
    this.definitions = definitions;
    this.routeKinds = new Map(gateway.routes.map((route) => [route.name, kindOf(route)]));
    this.#parts = parts;
    this.#stops = new Stops(house.log);
    this.services = {
      ...house,
      ...{ config, definitions, routes: gateway.routes, document: gateway.document },
      share: (name, from, make) => parts.use(this, { name, from }, make),
      addActivationCheck: (name, check) => this.#takeOverChecks.add(name, check),
      onActivate: (take) => this.#takes.push(take),
      onStarted: (started) => this.#startedHooks.push(started),
      addReadinessCheck: (name, check) => this.readiness.add(name, check),
      addReadinessNotice: (name, notice) => this.readiness.addNotice(name, notice),
      onStop: (name, stop) => this.#stops.add(name, stop),
    };
  }

  /** What keeps it from taking over from another, one line each. */
  async problems(): Promise<string[]> {
    const answers = await this.#takeOverChecks.reasons();
    return answers.flatMap(([name, reasons]) => reasons.map((reason) => `${name}: ${reason}`));
  }

  /** It is in force from now on. */
  activate(): void {
    for (const take of this.#takes) take();
  }

  /** The router that was started with it listens. */
  started(): void {
    for (const started of this.#startedHooks) started();
  }

  /** A request is its own, to the end. */
  enter(response: ServerResponse): void {
    this.#requests += 1;
    response.once('close', () => {
      this.#requests -= 1;
      if (this.#requests === 0) this.#lastAnswered?.();
    });
  }

  /** Resolves when no request of it is under way. To be called once it gets no more. */
  async whenAnswered(): Promise<void> {
    if (this.#requests === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#lastAnswered = resolve;
    await promise;
  }

  /** Stops what is its own, and what it was the last to use. */
  async stop(): Promise<void> {
    await this.#stops.run();
    await this.#parts.release(this);
  }
}
