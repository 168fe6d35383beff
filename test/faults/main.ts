// `npm run faults`: injects faults, one case after the other, and stores the results in test/faults/results/.

import { lookAround } from '../../bench/report/machine.ts';
import { engineRelease } from '../../dev/engine/release.ts';
import { type Requirement, whyNot } from '../run/requirements.ts';
import { seededRandom } from '../stack/seeded-random.ts';
import type { Case } from './cases/case.ts';
import { cases } from './cases/index.ts';
import type { EngineKind } from './engine.ts';
import { Engines, storeOf, topologyFor } from './engines.ts';
import { type Options, parseOptions, usage } from './options.ts';
import { describeFindings, writeReport } from './report.ts';
import { productCode } from './product-code.ts';
import { hasHeld, Results } from './results.ts';
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
      const wasGood = await runIfPossible(chosen, engines, options).catch((error: Error) => {
        say(`${chosen.name}: failed, ${error.stack}`);
        return false;
      });
      isGood &&= wasGood;
    }
  } finally {
    await engines.stop();
  }
  return isGood ? 0 : 1;
}

/** Runs a case, or prints why this machine cannot run it. Returns false when something was wrong. */
async function runIfPossible(chosen: Case, engines: Engines, options: Options): Promise<boolean> {
  const missing = whyNotHere(chosen, options) || (await chosen.missing?.());
  if (!missing) return run(chosen, engines, options);
  say(`${chosen.name}: not run, ${missing}`);
  return true;
}

/** Runs one case with the seed of the run, so that a case can be repeated alone. */
async function run(chosen: Case, engines: Engines, options: Options): Promise<boolean> {
  const { slack, load, minutes, dry, routers } = options;
  const isMeasured = options.kills !== undefined;
  const done = options.resume ? doneBefore(chosen, options) : { kills: 0, requests: 0 };
  const left = (wanted: number | undefined, before: number) => (wanted === undefined ? undefined : wanted - before);
  const [kills, requests] = [left(options.kills, done.kills), left(options.requests, done.requests)];
  if (isMeasured && (kills ?? 0) <= 0 && (requests ?? 0) <= 0)
    return (say(`${chosen.name}: already done by earlier runs`), true);
  const circumstances = await lookAround(`Conductor ${engineRelease.version} on ${nameOfStore(options)}`);
  const findings = await runCase(chosen, () => engines.for(chosen), {
    topology: topologyFor(chosen, options),
    product: productCode(),
    ...{ slack, load, routers, kills, requests, circumstances, say },
    tries: options.tries ?? (isMeasured ? Number.POSITIVE_INFINITY : chosen.tries),
    seconds: minutes * 60,
    random: seededRandom(String(options.random.seed)),
    keepFailure: (found, texts) => dry || results.keepFailure(found, texts),
  });
  if (!dry) results.keep(findings);
  say(describeFindings(findings));
  // The engine may have died, or may still contain the changes that this case made.
  if (findings.brokeOff !== undefined) await engines.stop();
  return hasHeld(findings);
}

const nameOfStore = ({ store, appendfsync }: Options) =>
  appendfsync === undefined ? store : `${store} (appendfsync ${appendfsync})`;

/** Returns why a case does not run on this machine with this store; empty when it does. */
function whyNotHere(chosen: Case, options: Options): string {
  const { needs = [], notOn } = chosen;
  const store = storeOf(chosen, options);
  return notOn?.[store] ?? whyNot([...new Set([...needs, ...neededBy[store]])]);
}

/** Servers that each store needs. With an engine on Redis, the router keeps its records in Redis too. */
const neededBy: Readonly<Record<EngineKind, readonly Requirement[]>> = {
  sqlite: [],
  postgresql: ['postgresql'],
  redis: ['redis'],
};

/** Returns the kills and requests of earlier runs of the same case, topology and code. */
function doneBefore(chosen: Case, options: Options): { kills: number; requests: number } {
  const product = productCode();
  const runs = results
    .runsOf({ case: chosen.name, topology: topologyFor(chosen, options) })
    .filter((run) => run.product === product);
  const sum = (of: 'kills' | 'requests') => runs.reduce((total, run) => total + run[of], 0);
  return { kills: sum('kills'), requests: sum('requests') };
}

function choose(names: readonly string[]): readonly Case[] {
  if (names.length === 0) return cases;
  return names.map((name) => {
    const found = cases.find((each) => each.name === name);
    if (found === undefined) throw new Error(`there is no case ${name}; --help lists the cases`);
    return found;
  });
}

// Exits explicitly: Node would spin at exit if one of the many reset sockets were left open.
process.exit(await main(parseOptions(process.argv.slice(2))));
