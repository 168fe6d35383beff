// Runs one case on one engine and gives its findings.

import type { Violation } from './check-history.ts';
import { countReplays, countUnacknowledged, recoveryTimes } from './figures.ts';
import type { Case } from './cases/case.ts';
import type { FaultEngine } from './engine.ts';
import type { AnyEvent } from './history.ts';
import type { Levels } from './levels.ts';
import { startWorld, type World } from './world.ts';

/** What one run of a case found; a file in `results/` holds a list of them. */
export interface Findings {
  readonly case: string;
  readonly engine: string;
  readonly at: string;
  readonly tries: number;
  readonly slack: number;
  readonly kills: number;
  /** Without those that found nobody to connect to. */
  readonly requests: number;
  /** How many ended how: `200`, `504 wait-budget-spent`, `closed ECONNRESET`. */
  readonly ends: Readonly<Record<string, number>>;
  readonly violations: number;
  /** The first of them. */
  readonly examples: readonly Violation[];
  readonly complaints: readonly string[];
  readonly notes: readonly string[];
  /** From each repair to the next success, in milliseconds. */
  readonly recoveryMs: readonly number[];
  /** Writes that were applied although no client was told so, and PATCHes among them of which MDM did not hear. */
  readonly unacknowledged: { readonly applied: number; readonly withoutMdm: number };
  /** Repeated writes that a back end answered from the record of their key. */
  readonly replays?: number;
  readonly levels: { readonly before: Levels; readonly after: Levels };
  readonly seconds: number;
}

export interface RunOptions {
  readonly tries: number;
  /** No try begins later than this after the first, in seconds. */
  readonly seconds: number;
  /** Multiplies what times are judged by; 1 on a machine that does nothing else. */
  readonly slack: number;
  readonly say: (line: string) => void;
}

/** Most examples that are kept of violations and complaints. */
const mostExamples = 10;
/** A task whose worker died is handed out again after 65 s, on top of what the queue of events takes. */
const mdmMs = 150_000;
/** After its dependency is back the router serves within this time, in milliseconds. */
const recoveryLimitMs = 5_000;

export async function runCase(
  chosen: Case,
  engine: FaultEngine,
  { tries, seconds, slack, say }: RunOptions,
): Promise<Findings> {
  const startedAt = performance.now();
  const { router = {}, workers = {}, tearDown } = (await chosen.setUp?.(engine)) ?? {};
  const world = await startWorld(engine, {
    ...chosen.world,
    router: { ...chosen.world?.router, ...router },
    workers: { ...chosen.world?.workers, ...workers },
  });
  try {
    const before = await world.levels();
    const end = performance.now() + seconds * 1_000;
    let tried = 0;
    while (tried < tries && (tried === 0 || performance.now() < end)) {
      tried += 1;
      const brokenOff = await chosen.tryOnce(world).then(
        () => undefined,
        (error: Error) => error.message,
      );
      // What a try leaves behind is unknown then: the next would be judged by it.
      if (brokenOff !== undefined) {
        world.expect(false, `try ${tried} broke off: ${brokenOff}`);
        await world.operations.end();
        break;
      }
      say(`${chosen.name}: try ${tried} of ${tries}, ${world.operations.count} requests, ${world.kills} kills`);
    }
    const [reasons] = await Promise.all([world.untilBackAt(before), world.untilMdmHeard(chosen.mdmMs ?? mdmMs)]);
    for (const reason of reasons) world.expect(false, `after 90 s of quiet: ${reason}`);
    return await findingsOf(chosen, world, { tries: tried, slack, before, startedAt });
  } finally {
    await world.stop();
    await tearDown?.();
  }
}

async function findingsOf(
  chosen: Case,
  world: World,
  { tries, slack, before, startedAt }: { tries: number; slack: number; before: Levels; startedAt: number },
): Promise<Findings> {
  const events = world.events();
  const violations = world.violations(slack);
  const recoveryMs = recoveryTimes(events).map(({ ms }) => ms);
  const ends = countEnds(events);
  for (const ms of recoveryMs) world.expect(ms <= recoveryLimitMs * slack, `recovered only after ${ms} ms`);
  return {
    case: chosen.name,
    engine: world.engine.kind ?? 'given',
    at: new Date().toISOString(),
    tries,
    slack,
    kills: world.kills,
    requests: sumOf(ends) - (ends['closed ECONNREFUSED'] ?? 0),
    ends,
    violations: violations.length,
    examples: violations.slice(0, mostExamples),
    complaints: summarise(world.complaints).slice(0, mostExamples),
    notes: summarise(world.notes),
    recoveryMs,
    unacknowledged: countUnacknowledged(events),
    replays: countReplays(events),
    levels: { before, after: await world.levels() },
    seconds: Math.round((performance.now() - startedAt) / 1_000),
  };
}

function countEnds(events: readonly AnyEvent[]): Record<string, number> {
  const ends = events.flatMap((event) => {
    if (event.actor !== 'client' || event.event === 'invoke') return [];
    if (event.event === 'closed') return [`closed ${event.reason}`];
    return [event.problem === undefined ? String(event.status) : `${event.status} ${event.problem}`];
  });
  const counts: Record<string, number> = {};
  for (const end of ends.toSorted()) counts[end] = (counts[end] ?? 0) + 1;
  return counts;
}

const sumOf = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** The same complaint once, with how often it came. */
function summarise(complaints: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const complaint of complaints) counts.set(complaint, (counts.get(complaint) ?? 0) + 1);
  return [...counts].map(([complaint, count]) => (count === 1 ? complaint : `${count} × ${complaint}`));
}
