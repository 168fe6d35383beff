// Reads the metrics of a router as an operator's Prometheus does.

import { call } from './client.ts';

/** Values by series: a name with its labels, such as `router_config_reloads_total{result="applied"}`. */
export type Counts = Readonly<Record<string, number>>;

/** Returns all series. @throws Error when a series occurs twice */
export async function readCounts(operationsUrl: string): Promise<Counts> {
  const { text } = await call(`${operationsUrl}/metrics`);
  const counts: Record<string, number> = {};
  for (const line of text.split('\n')) {
    const [, series, value] = /^([^#].*) (\S+)$/.exec(line) ?? [];
    if (series === undefined) continue;
    if (series in counts) throw new Error(`the series ${series} occurs twice`);
    counts[series] = Number(value);
  }
  return counts;
}

/** Returns the value of a series. @param series name with labels @throws Error when there is no such series */
export async function readCount(operationsUrl: string, series: string): Promise<number> {
  const count = (await readCounts(operationsUrl))[series];
  if (count === undefined) throw new Error(`the router has no series ${series}`);
  return count;
}
