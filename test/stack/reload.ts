// Makes a running router reload its configuration.

import { readCounts } from './metrics.ts';
import { pollUntil } from './poll-until.ts';
import type { Program } from './program.ts';

/** Sends SIGHUP and returns the result of the reload. */
export async function reload({ process, ready }: Program): Promise<'applied' | 'refused'> {
  const counts = async () => {
    const found = await readCounts(String(ready['operationsUrl']));
    return (result: string) => found[`router_config_reloads_total{result="${result}"}`] ?? 0;
  };
  const before = await counts();
  process.kill('SIGHUP');
  const outcome = async () => {
    const now = await counts();
    return (['applied', 'refused'] as const).find((result) => now(result) > before(result));
  };
  return pollUntil('the reload to end', outcome, { timeoutMs: 60_000 });
}
