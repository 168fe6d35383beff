// The parts that outlive a configuration, counted by who uses them (as Caddy's UsagePool does).

import { createHash } from 'node:crypto';
import type { Registry } from 'prom-client';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import type { SharedServices } from '../plugin-api/plugin-api.ts';
import { ReadinessChecks } from '../operations/readiness.ts';
import { ResourceMetrics } from './resource-metrics.ts';
import { Stops } from './stops.ts';

interface Part {
  readonly value: unknown;
  readonly stops: Stops;
  readonly readiness: ReadinessChecks;
  readonly metrics: ResourceMetrics;
  readonly users: Set<object>;
}

/** What every part gets besides what is its own. */
export interface SharedResourcesOptions extends Pick<
  SharedServices,
  'config' | 'log' | 'tracer' | 'redis' | 'draining'
> {
  readonly metrics: Registry;
  readonly log: Logger;
}

export class SharedResources {
  readonly #options: SharedResourcesOptions;
  /** In the order in which they were made. */
  readonly #parts = new Map<string, Part>();

  constructor(options: SharedResourcesOptions) {
    this.#options = options;
  }

  /** Parts that somebody uses. */
  get size(): number {
    return this.#parts.size;
  }

  /** What the parts say of readiness. */
  get readiness(): ReadinessChecks[] {
    return [...this.#parts.values()].map(({ readiness }) => readiness);
  }

  /**
   * The part of this name that was made from the same values, or a new one.
   * @param user whoever keeps it from being stopped until `release`
   * @throws whatever `make` throws; then nothing of it is left
   */
  use<T>(user: object, part: { name: string; from: readonly unknown[] }, make: (services: SharedServices) => T): T {
    // The values may be secrets: what is kept of them is a digest.
    const from = createHash('sha256').update(JSON.stringify(part.from)).digest('base64');
    const key = `${part.name} ${from}`;
    const known = this.#parts.get(key);
    if (known !== undefined) {
      known.users.add(user);
      return known.value as T;
    }
    const made = this.#make(make);
    this.#parts.set(key, { ...made, users: new Set([user]) });
    return made.value;
  }

  /** Stops what nobody else uses, the latest first. */
  async release(user: object): Promise<void> {
    const unused = [...this.#parts].toReversed().filter(([, { users }]) => users.delete(user) && users.size === 0);
    for (const [key, { metrics }] of unused) {
      this.#parts.delete(key);
      // At once: the next configuration may make a part of this name.
      metrics.remove();
    }
    for (const [, { stops }] of unused) await stops.run();
  }

  #make<T>(make: (services: SharedServices) => T): Omit<Part, 'users' | 'value'> & { value: T } {
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
      void stops.run();
      throw error;
    }
  }
}
