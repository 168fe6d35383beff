// Registers gauges whose values are read at each scrape.

import { Gauge, type Registry } from 'prom-client';

/** Name and help text of a metric, and its labels. */
export interface GaugeOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
}

/** Value of one series. */
export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/**
 * Registers a gauge.
 * @param read called at each scrape; returns the value, or the samples of all series that exist now
 */
export function observeGauge(
  metrics: Registry,
  { labelNames = [], ...options }: GaugeOptions,
  read: () => number | Iterable<Sample>,
): void {
  new Gauge({
    ...options,
    labelNames: [...labelNames],
    registers: [metrics],
    collect() {
      const values = read();
      if (typeof values === 'number') return this.set(values);
      this.reset();
      for (const { labels, value } of values) this.set({ ...labels }, value);
    },
  });
}
