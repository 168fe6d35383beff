// A reference-counted pool of the resources that snapshots share (like Caddy's UsagePool).

import { createHash } from 'node:crypto';
import type { Registry } from 'prom-client';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import type { SharedServices } from '../plugin-api/plugin-api.ts';
import { ReadinessChecks } from '../operations/readiness.ts';
import { ResourceMetrics } from './resource-metrics.ts';
import { Stops } from './stops.ts';

interface SharedResource {
  readonly value: unknown;
  readonly stops: Stops;
  readonly readiness: ReadinessChecks;
  readonly metrics: ResourceMetrics;
  readonly users: Set<object>;
}

/** Services of the gateway host that each shared resource receives. */
export interface SharedResourcesOptions extends Pick<
  SharedServices,
  'config' | 'log' | 'tracer' | 'redis' | 'draining'
> {
  readonly metrics: Registry;
  readonly log: Logger;
}

/**
 * Creates a resource for its first user, shares it with later users, and stops it once the last user has released it.
 */
export class SharedResources {
  readonly #options: SharedResourcesOptions;
  /** Resources by name and digest of the inputs, in the order of creation. */
  readonly #resources = new Map<string, SharedResource>();
  /** Clean-ups in progress after failed creations. */
  readonly #cleanUps = new Set<Promise<void>>();
  #isStopped = false;

  constructor(options: SharedResourcesOptions) {
    this.#options = options;
  }

  /** Number of resources in use. */
  get size(): number {
    return this.#resources.size;
  }

  /** Readiness checks of all resources. */
  get readiness(): ReadinessChecks[] {
    return [...this.#resources.values()].map(({ readiness }) => readiness);
  }

  /**
   * Returns the resource with this name and these inputs; creates it if it does not exist.
   * @param user holds a reference to the resource until `release`
   * @throws Error after `stop`
   * @throws the error of `make`. The metrics that `make` created are removed at once; the stop functions that it added
   *   have run when `release` resolves.
   */
  use<T>(user: object, id: { name: string; from: readonly unknown[] }, make: (services: SharedServices) => T): T {
    if (this.#isStopped) throw new Error('the router has stopped');
    // The inputs may be secrets, so the key holds only their digest.
    const from = createHash('sha256').update(JSON.stringify(id.from)).digest('base64');
    const key = `${id.name} ${from}`;
    const known = this.#resources.get(key);
    if (known !== undefined) {
      known.users.add(user);
      return known.value as T;
    }
    const made = this.#make(make);
    this.#resources.set(key, { ...made, users: new Set([user]) });
    return made.value;
  }

  /**
   * Releases all resources of a user; stops those that have no other user, the most recently created first. Resolves
   * when these resources have stopped and the clean-ups after failed creations have ended.
   */
  async release(user: object): Promise<void> {
    await this.#stop([...this.#resources].filter(([, { users }]) => users.delete(user) && users.size === 0));
  }

  /**
   * Stops all resources, including those that have users, such as a snapshot whose plugin hangs. No resource can be
   * created afterwards.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#stop([...this.#resources]);
  }

  /**
   * Stops these resources, the most recently created first.
   * @param resources in the order of creation
   */
  async #stop(resources: readonly [key: string, SharedResource][]): Promise<void> {
    const stopping = resources.toReversed();
    for (const [key, { metrics }] of stopping) {
      this.#resources.delete(key);
      // Remove the metrics before the first wait: the next snapshot may create a resource that registers them again.
      metrics.remove();
    }
    for (const [, { stops }] of stopping) await stops.run();
    await Promise.all(this.#cleanUps);
  }

  #make<T>(make: (services: SharedServices) => T): Omit<SharedResource, 'users' | 'value'> & { value: T } {
    const { config, log, tracer, redis, draining } = this.#options;
    const stops = new Stops(log);
    const readiness = new ReadinessChecks();
    const metrics = new ResourceMetrics(this.#options.metrics);
    const services: SharedServices = {
      ...{ config, log, tracer, redis, draining, metrics },
      addReadinessCheck: (name, check) => readiness.add(name, check),
      addReadinessNotice: (name, notice) => readiness.addNotice(name, notice),
      onStop: (name, stop) => stops.add(name, stop),
    };
    try {
      return { value: make(services), stops, readiness, metrics };
    } catch (error) {
      metrics.remove();
      const cleanUp = stops.run().finally(() => this.#cleanUps.delete(cleanUp));
      this.#cleanUps.add(cleanUp);
      throw error;
    }
  }
}
