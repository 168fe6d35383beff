// What the router says of itself on its operations port.

/** The value of a metric without labels. @throws Error when there is none of that name */
export async function readMetric(operationsUrl: string, name: string): Promise<number> {
  const text = await (await fetch(`${operationsUrl}/metrics`)).text();
  const value = new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1];
  if (value === undefined) throw new Error(`the router has no metric ${name}`);
  return Number(value);
}
