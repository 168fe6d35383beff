// The options of `npm run bench`, and the flags that all benches share.

import { parseArgs } from 'node:util';
import { engineRelease } from '../dev/engine/release.ts';
import { type EngineChoice, type EngineStore, engineStores } from './programs/engine.ts';
import { type TargetName, targetNames } from './targets/target.ts';

/** Flags of every bench that starts an engine. */
export const engineFlags = {
  store: { type: 'string', default: 'sqlite' },
  properties: { type: 'string' },
  'java-options': { type: 'string' },
  name: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const;

export const engineFlagsHelp = `  --store sqlite           where the engine keeps executions: sqlite, redis or
                           postgresql; for the latter two, the run starts an installed server
  --properties <file>      property file of the engine, instead of the product's
  --java-options="<…>"     JVM options of the engine, instead of the product's
  --name <name>            name of the files in bench/results/
  --help                   this text

CONDUCTOR_URL selects an engine that is already running. Environment variables can set any configuration key, as for
npm start.
`;

/** Flags of every bench that compares targets. */
export const loadFlags = {
  'in-flight': { type: 'string', default: '1,8,32,128' },
  seconds: { type: 'string', default: '10' },
  'warm-up': { type: 'string', default: '2' },
  repetitions: { type: 'string', default: '3' },
} as const;

export const loadFlagsHelp = `  --in-flight 1,8,32,128   clients of the closed loop
  --seconds 10             length of one measurement
  --warm-up 2              seconds of the same load before each measurement; at the start, each target is warmed up
                           for four times as long
  --repetitions 3          repetitions of each measurement; the order of the targets rotates
`;

export const help = `Usage: npm run bench [-- options]

Measures the router, the parts on which it is built, and the usual alternatives, in one run.

${loadFlagsHelp}  --targets a,b            targets to measure: ${targetNames.join(', ')}
  --production             two routers with Redis, and the engine as in docker-compose.yml: two servers on PostgreSQL;
                           needs redis-server on the PATH
  --proxy                  installs stock Express Gateway in bench/proxy/ if it is not there yet
${engineFlagsHelp}`;

export interface LoadOptions {
  readonly inFlight: readonly number[];
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly repetitions: number;
}

export interface BenchOptions extends LoadOptions {
  /** True to start two routers, Redis, and the engine as in docker-compose.yml. */
  readonly production: boolean;
  readonly targets: readonly TargetName[];
  readonly installProxy: boolean;
  readonly engine: EngineChoice;
  /** Name of the result files. */
  readonly name: string;
  readonly help: boolean;
}

/** @throws Error that names the invalid flag */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...loadFlags,
      targets: { type: 'string', default: targetNames.join(',') },
      proxy: { type: 'boolean', default: false },
      production: { type: 'boolean', default: false },
      ...engineFlags,
    },
  });
  return {
    ...loadOptionsOf(values),
    targets: targetsOf(values.targets),
    production: values.production,
    installProxy: values.proxy,
    engine: engineChoiceOf({ ...values, ...(values.production ? { store: 'postgresql' } : {}) }),
    name: values.name ?? (values.production ? 'production' : values.store),
    help: values.help,
  };
}

/** @throws Error that names the invalid flag */
export function loadOptionsOf(values: Readonly<Record<keyof typeof loadFlags, string>>): LoadOptions {
  return {
    inFlight: values['in-flight'].split(',').map((text) => positive('in-flight', text)),
    seconds: positive('seconds', values.seconds),
    warmUpSeconds: positive('warm-up', values['warm-up']),
    repetitions: positive('repetitions', values.repetitions),
  };
}

interface EngineValues {
  store: string;
  properties?: string | undefined;
  'java-options'?: string | undefined;
}

/** @throws Error that names the invalid flag */
export function engineChoiceOf(values: EngineValues): EngineChoice {
  const { properties, 'java-options': javaOptions } = values;
  return {
    ...{ store: storeOf(values.store), properties },
    javaOptions: javaOptions?.split(' ').filter((option) => option !== ''),
  };
}

/** @throws Error that names the flag */
export function storeOf(text: string): EngineStore {
  const store = engineStores.find((name) => name === text);
  if (store !== undefined) return store;
  throw new Error(`--store takes ${engineStores.join(', ')}, not ${JSON.stringify(text)}`);
}

const storeNames: Readonly<Record<EngineStore, string>> = {
  sqlite: 'SQLite',
  postgresql: 'PostgreSQL',
  redis: 'Redis',
};

/** Returns the description of the engine of a run. @throws Error that names the flag */
export function engineName({ store }: { store: string }): string {
  return `Conductor ${engineRelease.version} on ${storeNames[storeOf(store)]}`;
}

/** @throws Error that names the flag */
export function positive(flag: string, text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new Error(`--${flag} takes numbers above 0, not ${JSON.stringify(text)}`);
}

function targetsOf(text: string): TargetName[] {
  const asked = text.split(',');
  const unknown = asked.filter((name) => !targetNames.includes(name as TargetName));
  if (unknown.length > 0) throw new Error(`--targets: ${unknown.join(', ')} is not one of ${targetNames.join(', ')}`);
  return targetNames.filter((name) => asked.includes(name));
}
