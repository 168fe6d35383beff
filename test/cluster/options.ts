// What a run of `npm run test:cluster` was asked to do.

import { parseArgs } from 'node:util';
import { seededRandom, type SeededRandom } from '../stack/seeded-random.ts';

export interface ClusterOptions {
  readonly random: SeededRandom;
  /** Multiplies the times of I5 and I6. */
  readonly slack: number;
  /** Names of the parts to kill; all when empty. */
  readonly only: readonly string[];
  readonly keep: boolean;
}

export const help = `Usage: npm run test:cluster [-- <options>]

Runs the production topology as processes of this machine: two engines on PostgreSQL, two routers with Redis behind a load balancer, workers,
Keycloak. Under load it kills each part with SIGKILL and starts it again, then judges the history of the run and prints what each kill cost.

  --seed <n>       repeats the moments of another run
  --only <name>    kills only this part, "router 1" for one (may be repeated)
  --slack <n>      multiplies the times that requests are judged by (default 2: all parts share one machine)
  --keep           keeps logs, data and history of a run that succeeded as well
  --help           this text
`;

/** Null when help was asked for. @throws Error for people */
export function parseClusterOptions(args: readonly string[]): ClusterOptions | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
      slack: { type: 'string', default: '2' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  const slack = Number(values.slack);
  if (!(slack > 0)) throw new Error(`--slack is a positive number, not ${values.slack}`);
  return { random: seededRandom(values.seed), slack, only: values.only, keep: values.keep };
}
