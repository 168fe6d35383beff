// What the router says of itself on its operations port.

/** The value of a metric without labels. @throws Error when there is none of that name */
export async function readMetric(operationsUrl: string, name: string): Promise<number> {
  const text = await (await fetch(`${operationsUrl}/metrics`)).text();
  const value = new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1];
  if (value === undefined) throw new Error(`the router has no metric ${name}`);
  return Number(value);
}

/** Quick collections of garbage since the start: the router serves nobody meanwhile. */
export interface Collections {
  readonly count: number;
  /** All of them together, in milliseconds. */
  readonly ms: number;
}

/** What the router has counted so far: nothing before the first. */
export async function readCollections(operationsUrl: string): Promise<Collections> {
  const text = await (await fetch(`${operationsUrl}/metrics`)).text();
  const valueOf = (part: string) =>
    Number(new RegExp(`^nodejs_gc_duration_seconds_${part}\\{kind="minor"\\} (.+)$`, 'm').exec(text)?.[1] ?? 0);
  return { count: valueOf('count'), ms: 1_000 * valueOf('sum') };
}
