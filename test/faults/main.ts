// `npm run faults`: injects faults, one case after the other, and stores the results in test/faults/results/.

import { lookAround } from '../../bench/report/machine.ts';
import { engineRelease } from '../../dev/engine/release.ts';
import { whyNot } from '../run/requirements.ts';
import { seededRandom } from '../stack/seeded-random.ts';
import type { Case } from './cases/case.ts';
import { cases } from './cases/index.ts';
import { type FaultEngine, startFaultEngine } from './engine.ts';
import { type Options, parseOptions, usage } from './options.ts';
import { describeFindings, writeReport } from './report.ts';
import { productCode } from './product-code.ts';
import { hasHeld, Results, topologyOf } from './results.ts';
import { runCase } from './run-case.ts';

const results = new Results();
const say = (line: string) => void process.stdout.write(`${line}\n`);

async function main(options: Options): Promise<number> {
  if (options.help) return (say(`${usage}\nCases: ${cases.map(({ name }) => name).join(', ')}`), 0);
  if (options.report) return (writeReport(), 0);
  if (process.env['CONDUCTOR_URL']) throw new Error('the cases kill the engine: unset CONDUCTOR_URL');
  say(`seed ${options.random.seed}`);
  const engines = new Engines(options);
  let isGood = true;
  try {
    for (const chosen of choose(options.cases)) {
      const missing = whyNotHere(chosen, options) || (await chosen.missing?.());
      if (!missing) isGood = (await run(chosen, engines, options)) && isGood;
      else say(`${chosen.name}: not run, ${missing}`);
    }
  } finally {
    await engines.stop();
  }
  return isGood ? 0 : 1;
}

/** Runs one case with the seed of the run, so that a case can be repeated alone. */
async function run(chosen: Case, engines: Engines, options: Options): Promise<boolean> {
  const { slack, load, minutes, dry, routers } = options;
  const isMeasured = options.kills !== undefined;
  const done = options.resume ? doneBefore(chosen, options) : { kills: 0, requests: 0 };
  const left = (wanted: number | undefined, before: number) => (wanted === undefined ? undefined : wanted - before);
  const [kills, requests] = [left(options.kills, done.kills), left(options.requests, done.requests)];
  if (isMeasured && (kills ?? 0) <= 0 && (requests ?? 0) <= 0) return (say(`${chosen.name}: done before`), true);
  const circumstances = await lookAround(`Conductor ${engineRelease.version} on ${storeOf(options)}`);
  const findings = await runCase(chosen, await engines.for(chosen), {
    ...{ slack, load, routers, kills, requests, circumstances, say },
    tries: options.tries ?? (isMeasured ? Number.POSITIVE_INFINITY : chosen.tries),
    seconds: minutes * 60,
    random: seededRandom(String(options.random.seed)),
    keepFailure: (found, texts) => dry || results.keepFailure(found, texts),
  });
  if (!dry) results.keep(findings);
  say(describeFindings(findings));
  return hasHeld(findings);
}

const storeOf = ({ store, appendfsync }: Options) =>
  appendfsync === undefined ? store : `${store} (appendfsync ${appendfsync})`;

/** Returns why a case does not run on this machine with this store; empty when it does. */
function whyNotHere({ needs = [], engine, notOn }: Case, options: Options): string {
  const store = engine?.kind ?? options.store;
  const reason = notOn?.[store];
  // With an engine on Redis, the router keeps its records in Redis too.
  return reason ?? whyNot(store === 'redis' ? [...new Set([...needs, 'redis' as const])] : needs);
}

/** Returns the kills and requests of earlier runs of the same case, topology and code. */
function doneBefore({ name, world }: Case, options: Options): { kills: number; requests: number } {
  const { store, engines, routers, appendfsync } = options;
  const topology = topologyOf({ store, engines, routers: routers ?? world?.routers ?? 1, appendfsync });
  const product = productCode();
  const runs = results.runsOf({ case: name, topology }).filter((run) => run.product === product);
  const sum = (of: 'kills' | 'requests') => runs.reduce((total, run) => total + run[of], 0);
  return { kills: sum('kills'), requests: sum('requests') };
}

/** One engine for all cases, except those that need a separate one. */
class Engines {
  readonly #options: Options;
  #running: { engine: FaultEngine; needs: string } | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  async for({ engine: own = {} }: Case): Promise<FaultEngine> {
    const { store, engines, templateDir, appendfsync } = this.#options;
    const {
      kind = store,
      environment,
      count = kind === store ? engines : 1,
      ownServer = kind === 'postgresql',
      ...others
    } = own;
    const needs =
      environment === undefined ? JSON.stringify({ kind, count, ownServer, ...others }) : crypto.randomUUID();
    if (this.#running !== undefined && this.#running.needs !== needs) await this.stop();
    const start = () =>
      startFaultEngine(kind, { ...others, count, templateDir, environment: environment?.(), ownServer, appendfsync });
    this.#running ??= { engine: await start(), needs };
    return this.#running.engine;
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.engine.stop();
  }
}

function choose(names: readonly string[]): readonly Case[] {
  if (names.length === 0) return cases;
  return names.map((name) => {
    const found = cases.find((each) => each.name === name);
    if (found === undefined) throw new Error(`there is no case ${name}; --help lists them`);
    return found;
  });
}

// Exits explicitly: Node would spin at its exit if one of the many reset sockets were left open.
process.exit(await main(parseOptions(process.argv.slice(2))));
