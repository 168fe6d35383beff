// Reads metrics of the router from its operations port.

/** Returns the value of a metric without labels. @throws Error when there is no metric of that name */
export async function readMetric(operationsUrl: string, name: string): Promise<number> {
  const value = valueOf(await readMetrics(operationsUrl), name);
  if (value === undefined) throw new Error(`the router has no metric ${name}`);
  return value;
}

/** Count and duration of the minor garbage collections since the start. Each collection pauses the router. */
export interface Collections {
  readonly count: number;
  /** Total duration, in milliseconds. */
  readonly ms: number;
}

/** Returns the collections since the start of the router; zeros before the first one. */
export async function readCollections(operationsUrl: string): Promise<Collections> {
  const text = await readMetrics(operationsUrl);
  const ofMinor = (part: string) => valueOf(text, `nodejs_gc_duration_seconds_${part}{kind="minor"}`) ?? 0;
  return { count: ofMinor('count'), ms: 1_000 * ofMinor('sum') };
}

async function readMetrics(operationsUrl: string): Promise<string> {
  return (await fetch(`${operationsUrl}/metrics`)).text();
}

/** Returns the value of the series with this name and these labels; undefined when there is none. */
function valueOf(text: string, series: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}
