// The command line of `npm run faults`.

import { parseArgs } from 'node:util';
import { seededRandom, type SeededRandom } from '../stack/seeded-random.ts';
import type { AppendFsync } from '../stack/redis-server.ts';
import { type EngineKind, engineKinds } from './engine.ts';

export interface Options {
  /** Names of cases; empty: all cases. */
  readonly cases: readonly string[];
  readonly store: EngineKind;
  /** When the Redis servers sync their append-only files, for an engine on Redis; undefined on other stores. */
  readonly appendfsync: AppendFsync | undefined;
  readonly engines: number;
  readonly routers: number | undefined;
  readonly tries: number | undefined;
  readonly kills: number | undefined;
  readonly requests: number | undefined;
  readonly minutes: number;
  readonly slack: number;
  /** Multiplies the clients and PATCHes of a case's load. */
  readonly load: number;
  readonly random: SeededRandom;
  readonly templateDir: string | undefined;
  /** True to count the kills and requests of earlier runs of the same code. */
  readonly resume: boolean;
  /** True to keep no results. */
  readonly dry: boolean;
  /** True to run nothing, remove the results of other code and update docs/explanation/reliability.md. */
  readonly report: boolean;
  readonly help: boolean;
}

export const usage = `Usage: npm run faults [-- options]

Injects real faults, one case after the other, and checks the history of clients, back ends and MDM.
Each run is added to test/faults/results/, with the history of the run if something was wrong.
Exit code: 0 if nothing was wrong, otherwise 1.

  --case <name>        may be repeated; default: all
  --kills <n>          kills this many processes under load (case kills-under-load)
  --requests <n>       continues until this many requests have been sent
  --store <name>       sqlite (default), postgresql or redis; --engine <name> is the same
  --appendfsync <when> when Redis syncs its append-only file: everysec (default) or always; needs --store redis
  --engines <n>        engines on one PostgreSQL database (1)
  --routers <n>        routers (default: as the case specifies, usually 1)
  --tries <n>          number of tries instead of the case's own
  --minutes <n>        time after which a case begins no further try (3; 120 with --kills or --requests)
  --resume             does only what earlier runs of the same code, store, engines and routers have not done yet
  --slack <n>          multiplies time limits, for a busy machine (1)
  --load <n>           multiplies the clients and PATCHes of a case, for a slow machine (1)
  --seed <n>           repeats the choices and pauses of an earlier run with this seed (TEST_SEED)
  --template <dir>     keeps an engine's database with registered definitions in this folder, for the next run
  --dry                keeps no results
  --report             runs nothing: removes the results of other code, and writes the tables of
                       docs/explanation/reliability.md
  --help
`;

/** Parses the options. @throws Error with a readable message */
export function parseOptions(args: readonly string[]): Options {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      case: { type: 'string', multiple: true, default: [] },
      ...{
        engines: { ...text, default: '1' },
        slack: { ...text, default: '1' },
        load: { ...text, default: '1' },
      },
      ...{ store: text, engine: text, appendfsync: text },
      ...{ kills: text, requests: text, routers: text, tries: text, minutes: text, seed: text, template: text },
      ...{ resume: flag, dry: flag, report: flag, help: flag },
    },
  });
  const store = storeOf(values);
  const appendfsync = appendfsyncOf(store, values.appendfsync);
  const number = (name: 'kills' | 'requests' | 'routers' | 'tries' | 'minutes' | 'engines' | 'slack' | 'load') => {
    const given = values[name];
    if (given !== undefined && !(Number(given) > 0))
      throw new Error(`--${name} must be a positive number, not ${given}`);
    return given === undefined ? undefined : Number(given);
  };
  const [requests, engines = 1] = [number('requests'), number('engines')];
  // With --requests alone, nothing is killed.
  const kills = number('kills') ?? (requests === undefined ? undefined : 0);
  if (engines > 1 && store !== 'postgresql') throw new Error('several engines need --store postgresql');
  const isMeasured = kills !== undefined;
  return {
    ...{ cases: isMeasured && values.case.length === 0 ? ['kills-under-load'] : values.case, store, engines },
    appendfsync,
    ...{ kills, requests, routers: number('routers'), tries: number('tries'), slack: number('slack') ?? 1 },
    load: number('load') ?? 1,
    minutes: number('minutes') ?? (isMeasured ? 120 : 3),
    random: seededRandom(values.seed ?? process.env['TEST_SEED']),
    templateDir: values.template,
    ...{ resume: values.resume, dry: values.dry, report: values.report, help: values.help },
  };
}

function storeOf({ store, engine }: { store?: string | undefined; engine?: string | undefined }): EngineKind {
  if (store !== undefined && engine !== undefined && store !== engine)
    throw new Error(`--store ${store} and --engine ${engine} contradict each other`);
  const name = store ?? engine ?? 'sqlite';
  const found = engineKinds.find((kind) => kind === name);
  if (found === undefined) throw new Error(`--store must be sqlite, postgresql or redis, not ${name}`);
  return found;
}

function appendfsyncOf(store: EngineKind, given: string | undefined): AppendFsync | undefined {
  if (given !== undefined && store !== 'redis') throw new Error('--appendfsync needs --store redis');
  if (given !== undefined && given !== 'everysec' && given !== 'always')
    throw new Error(`--appendfsync must be everysec or always, not ${given}`);
  return store === 'redis' ? (given ?? 'everysec') : undefined;
}
