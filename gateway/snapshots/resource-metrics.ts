// The metrics of one part: registered where all are, and removed with the part, so that it can be made again.

import { type Metric, type Registry, Registry as PromRegistry } from 'prom-client';

/** A registry that passes on what is registered, and remembers it. */
export class ResourceMetrics extends PromRegistry {
  readonly #whole: Registry;
  readonly #names: string[] = [];

  constructor(whole: Registry) {
    super();
    this.#whole = whole;
  }

  override registerMetric<T extends string>(metric: Metric<T>): void {
    this.#whole.registerMetric(metric);
    this.#names.push((metric as unknown as { name: string }).name);
  }

  /** Takes them out again. */
  remove(): void {
    for (const name of this.#names.splice(0)) this.#whole.removeSingleMetric(name);
  }
}
