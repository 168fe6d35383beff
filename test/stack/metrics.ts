// The metrics of a router as an operator's Prometheus reads them.

import { call } from './client.ts';

/** By name with labels, such as `router_config_reloads_total{result="applied"}`. */
export type Counts = Readonly<Record<string, number>>;

/** @throws Error when a series is there twice */
export async function readCounts(operationsUrl: string): Promise<Counts> {
  const { text } = await call(`${operationsUrl}/metrics`);
  const counts: Record<string, number> = {};
  for (const line of text.split('\n')) {
    const [, series, value] = /^([^#].*) (\S+)$/.exec(line) ?? [];
    if (series === undefined) continue;
    if (series in counts) throw new Error(`the series ${series} is there twice`);
    counts[series] = Number(value);
  }
  return counts;
}

/** One series of it. @param series its name with labels @throws Error when there is none of that name */
export async function readCount(operationsUrl: string, series: string): Promise<number> {
  const count = (await readCounts(operationsUrl))[series];
  if (count === undefined) throw new Error(`the router has no series ${series}`);
  return count;
}
