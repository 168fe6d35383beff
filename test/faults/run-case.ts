// Runs one case on one engine and returns its findings, even when the run is aborted.

import type { Circumstances } from '../../bench/report/machine.ts';
import type { SeededRandom } from '../stack/seeded-random.ts';
import type { Case } from './cases/case.ts';
import type { Verdict } from './check-history.ts';
import { complaintsOf, recoveryLimitMs } from './complaints.ts';
import type { FaultEngine } from './engine.ts';
import {
  availabilityOf,
  countEnds,
  countPatches,
  countReplays,
  countUnacknowledged,
  longestRepetition,
  recoveriesOf,
  type Repetition,
} from './figures.ts';
import type { Levels } from './levels.ts';
import { lightLoad, shareOf } from './load.ts';
import { scaleResponseTimeouts } from './response-timeouts.ts';
import { type Findings, hasHeld, type Topology } from './results.ts';
import { startWorld } from './start-world.ts';
import { stopAll } from './stop-all.ts';
import { lossesOf, lostAlthoughSynced } from './store-losses.ts';
import type { World } from './world.ts';

export interface RunOptions {
  readonly tries: number;
  /** Number of kills after which no further try begins. */
  readonly kills?: number | undefined;
  /** The load continues after the last try until this number of requests has been sent. */
  readonly requests?: number | undefined;
  /** No further try begins when this many seconds have passed since the start of the first one. */
  readonly seconds: number;
  /** Multiplies time limits; 1 on an otherwise idle machine. */
  readonly slack: number;
  /** Share of the case's load; 1 is the whole load. */
  readonly load: number;
  readonly routers?: number | undefined;
  readonly random: SeededRandom;
  /** The planned topology, for the findings of a run whose engine fails to start. */
  readonly topology: Topology;
  readonly circumstances: Circumstances;
  /** Identifies the product's code (see product-code.ts). */
  readonly product: string;
  /** Receives the history and the logs of a run in which something was wrong. */
  readonly keepFailure: (findings: Findings, texts: Readonly<Record<string, string>>) => void;
  readonly say: (line: string) => void;
}

/** Maximum number of violations and of complaints that are kept as examples. */
const mostExamples = 10;
/**
 * Factor for the tasks' response timeouts, so that a lost task is detected soon: after 23 s instead of 90 s for a
 * write.
 */
const usualTimeoutScale = 1 / 4;
/**
 * How long a run without progress waits for the system to settle, in milliseconds. The wait is long because an engine
 * begins to handle events only half a minute after its start, and checks timeouts only every half minute.
 */
const restMs = 150_000;
/**
 * Time for which requests are still repeated after the last try, in milliseconds: longer than the limit for repetitions
 * in complaints.ts.
 */
const repeatForMs = 160_000;
/** The state of a run, which is kept when the run is aborted. */
interface Run {
  readonly chosen: Case;
  readonly options: RunOptions;
  readonly startedAt: number;
  world?: World;
  tried: number;
  before?: Levels;
  after?: Levels;
  brokeOff?: string;
}

/**
 * Runs a case on the engine that `startEngine` returns. Errors of the engine, the case and the clean-up are part of the
 * findings (`brokeOff`).
 */
export async function runCase(
  chosen: Case,
  startEngine: () => Promise<FaultEngine>,
  options: RunOptions,
): Promise<Findings> {
  const run: Run = { chosen, options, startedAt: performance.now(), tried: 0 };
  const stops: (() => unknown)[] = [];
  try {
    await perform(run, await startEngine(), (stop) => stops.push(stop));
  } catch (error) {
    run.brokeOff = (error as Error).message;
    await run.world?.operations.end();
    await run.world?.background.end();
  }
  const findings = findingsOf(run);
  const { world } = run;
  if (!hasHeld(findings) && world !== undefined) {
    const logs = world.texts().map(({ name, text }) => `--- ${name}\n${text}`);
    const history = world.events().map((event) => JSON.stringify(event));
    options.keepFailure(findings, { 'history.jsonl': history.join('\n'), log: logs.join('\n') });
  }
  const failed = (await stopAll(stops)).map((message) => `cleaning up: ${message}`);
  const reasons = [findings.brokeOff, ...failed].filter((reason) => reason !== undefined);
  return reasons.length === 0 ? findings : { ...findings, brokeOff: reasons.join('; ') };
}

async function perform(run: Run, engine: FaultEngine, onStop: (stop: () => unknown) => void): Promise<void> {
  const { chosen, options } = run;
  onStop(await scaleResponseTimeouts(engine.url, chosen.timeoutScale ?? usualTimeoutScale));
  const { router, workers, tearDown } = (await chosen.setUp?.(engine)) ?? {};
  if (tearDown !== undefined) onStop(tearDown);
  const world = await startWorld(engine, {
    ...chosen.world,
    routers: options.routers ?? chosen.world?.routers ?? 1,
    random: options.random,
    slack: options.slack,
    router: { ...chosen.world?.router, ...router },
    workers: { ...chosen.world?.workers, ...workers },
  });
  run.world = world;
  onStop(() => world.stop());
  run.before = await world.levels();
  const load = world.startLoad(shareOf(chosen.load ?? lightLoad, options.load));
  await repeat(run, world);
  await load.stop(repeatForMs * options.slack);
  const { nothingMissing = false } = chosen;
  const [reasons, left] = await Promise.all([
    world.untilBackAt(run.before),
    world.untilAtRest({ timeoutMs: chosen.restMs ?? restMs, nothingMissing }),
  ]);
  for (const reason of reasons)
    world.expect(false, `after the load, the router still holds more resources than before it: ${reason}`);
  world.expect(left === undefined || !nothingMissing, String(left));
  if (left !== undefined)
    for (const line of await world.describeUntold()) world.notes.push(`MDM was not notified: ${line}`);
  run.after = await world.levels();
}

/**
 * Repeats tries until there have been enough tries or kills, then waits until enough requests have been sent. Stops
 * earlier when no time is left.
 */
async function repeat(run: Run, world: World): Promise<void> {
  const { chosen, options } = run;
  const { tries, kills = Number.POSITIVE_INFINITY, requests = 0, seconds, say } = options;
  const end = performance.now() + seconds * 1_000;
  const sent = () => world.operations.count + world.background.count;
  while (run.tried < tries && world.kills < kills && (run.tried === 0 || performance.now() < end)) {
    run.tried += 1;
    const failed = await chosen.tryOnce(world).catch((error: Error) => error);
    // The state after a failed try is unknown and would affect the next try.
    if (failed instanceof Error) return void (run.brokeOff = `try ${run.tried}: ${failed.message}`);
    say(`${chosen.name}: try ${run.tried}, ${sent()} requests, ${world.kills} kills`);
  }
  while (sent() < requests && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 250));
}

function findingsOf(run: Run): Findings {
  const { chosen, options, world, tried, before, after, startedAt, brokeOff } = run;
  const { slack, load, topology, circumstances, product, random } = options;
  const events = world?.events() ?? [];
  const verdict = world?.verdict() ?? nothingJudged;
  const recoveries = recoveriesOf(events);
  const undisturbed = availabilityOf(events, recoveryLimitMs * slack);
  const ends = countEnds(events);
  const repetition = longestRepetition(events);
  const figures = { judged: verdict.judged, undisturbed, recoveries, repetition };
  // In an aborted run, unchecked invariants are not a complaint.
  const found = brokeOff === undefined ? complaintsOf(chosen, figures, slack) : [];
  const complaints = [...(world?.complaints ?? []), ...found, ...lostAlthoughSynced(events)];
  return {
    case: chosen.name,
    ...{
      topology,
      circumstances,
      product,
      seed: random.seed,
      slack,
      load,
      tries: tried,
      kills: world?.kills ?? 0,
    },
    requests: Object.values(ends).reduce((sum, count) => sum + count, 0) - (ends['closed ECONNREFUSED'] ?? 0),
    ...{ ends, judged: verdict.judged, persons: verdict.persons, violations: verdict.violations.length },
    examples: verdict.violations.slice(0, mostExamples),
    losses: lossesOf(events, verdict.explained),
    complaints: summarise(complaints).slice(0, mostExamples),
    notes: summarise([...(world?.notes ?? []), ...noteOn(repetition), ...noteOnPersons(chosen, verdict)]),
    ...{ brokeOff, recoveries, undisturbed },
    patches: countPatches(events, verdict.violations),
    unacknowledged: countUnacknowledged(events),
    replays: countReplays(events),
    levels: before === undefined || after === undefined ? undefined : { before, after },
    seconds: Math.round((performance.now() - startedAt) / 1_000),
  };
}

/** Returns a note about requests that were repeated for longer than a minute. */
function noteOn({ ms, undisturbedMs }: Repetition): string[] {
  const [longest, calm] = [ms, undisturbedMs].map((each) => Math.round(each / 1_000));
  return ms < 60_000
    ? []
    : [
        `requests were repeated for up to ${longest} s, including at most ${calm} consecutive seconds without a kill of the engine`,
      ];
}

/** Returns a note when I2 was judged without the final value of any person. */
function noteOnPersons({ notJudged }: Case, { persons }: Verdict): string[] {
  return persons.compared > 0 || notJudged?.I2 !== undefined
    ? []
    : [`I2 was judged without a final comparison of persons: none of ${persons.observed} could be compared`];
}

const nothingJudged: Verdict = {
  ...{ violations: [], explained: [] },
  judged: { I1: 0, I2: 0, I3: 0, I4: 0, I5: 0, I6: 0, I7: 0 },
  persons: { observed: 0, compared: 0 },
};

/** Merges equal complaints and puts the number of occurrences before them. */
function summarise(complaints: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const complaint of complaints) counts.set(complaint, (counts.get(complaint) ?? 0) + 1);
  return [...counts].map(([complaint, count]) => (count === 1 ? complaint : `${count} × ${complaint}`));
}
