// A metrics registry for one shared resource: its metrics are removed with the resource, so that the resource can be
// created again.

import { type Metric, type Registry, Registry as PromRegistry } from 'prom-client';

/** A registry that registers metrics in the router's registry and can unregister them. */
export class ResourceMetrics extends PromRegistry {
  readonly #target: Registry;
  readonly #names: string[] = [];

  /** @param target the registry behind `/metrics` */
  constructor(target: Registry) {
    super();
    this.#target = target;
  }

  override registerMetric<T extends string>(metric: Metric<T>): void {
    this.#target.registerMetric(metric);
    this.#names.push((metric as unknown as { name: string }).name);
  }

  /** Returns the metric with this name, even if it belongs to the router or to another resource. */
  override getSingleMetric<T extends string>(name: string): Metric<T> | undefined {
    return this.#target.getSingleMetric(name) as Metric<T> | undefined;
  }

  /** Unregisters all metrics of the resource. */
  remove(): void {
    for (const name of this.#names.splice(0)) this.#target.removeSingleMetric(name);
  }
}
