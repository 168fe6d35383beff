// Command-line options of `npm run kill-test`.

import { parseArgs } from 'node:util';
import type { DatabaseKind } from '../../../stack/engine-servers.ts';
import { seededRandom, type SeededRandom } from '../../../stack/seeded-random.ts';

export interface KillOptions {
  readonly database: DatabaseKind;
  /** Number of engines on the database. */
  readonly engines: number;
  readonly kills: number;
  /** Time after the start at which kills end, in milliseconds. */
  readonly killUntilMs: number;
  /** Time after the start by which the system must be idle, in milliseconds. */
  readonly restUntilMs: number;
  /** False shows what is lost without the reconciler. */
  readonly withReconciler: boolean;
  readonly random: SeededRandom;
}

const usage =
  'usage: npm run kill-test -- [--database sqlite|postgresql] [--engines <n>, more than 1 on postgresql only] [--kills <n>] [--minutes <n>] [--seed <n>] [--reconciler on|off]';

/** Parses the options. @throws Error with the usage when they are invalid */
export function parseKillOptions(args: readonly string[]): KillOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      database: { type: 'string', default: 'sqlite' },
      engines: { type: 'string', default: '1' },
      kills: { type: 'string', default: '8' },
      minutes: { type: 'string', default: '5' },
      seed: { type: 'string' },
      reconciler: { type: 'string', default: 'on' },
    },
  });
  const [engines, kills, minutes] = [values.engines, values.kills, values.minutes].map(Number) as [
    number,
    number,
    number,
  ];
  const { database } = values;
  const restUntilMs = minutes * 60_000 - 35_000;
  const isKnown = database === 'postgresql' || (database === 'sqlite' && engines === 1);
  if (!isKnown || !(kills > 0) || !(minutes >= 3) || !(Number.isInteger(engines) && engines > 0))
    throw new Error(usage);
  return {
    database,
    engines,
    kills,
    killUntilMs: restUntilMs - Math.max(115_000, minutes * 6_000),
    restUntilMs,
    withReconciler: values.reconciler !== 'off',
    random: seededRandom(values.seed),
  };
}
