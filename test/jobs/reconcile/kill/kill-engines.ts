// A fault injector that kills engines under load at seeded random times and restarts them.

import { setTimeout as pause } from 'node:timers/promises';
import type { EngineServers } from '../../../stack/engine-servers.ts';
import { pollUntil } from '../../../stack/poll-until.ts';
import type { KillOptions } from './options.ts';
import type { PatchLoad } from './patch-load.ts';

export interface Kills {
  readonly done: number;
  /** Time from each kill to the next successful PATCH, in milliseconds. */
  readonly recoveryMs: readonly number[];
}

/** With several engines, one kill in this many kills all of them at once. */
const allAtOnceOneIn = 5;

/** Runs the configured number of kills, or as many as time allows. At the end all engines run and PATCHes succeed. */
export async function killEngines(
  engines: EngineServers,
  load: PatchLoad,
  { persons, say, kills, killUntilMs, random }: KillOptions & { persons: number; say: (line: string) => void },
): Promise<Kills> {
  const recoveryMs: number[] = [];
  let done = 0;
  const untilServed = async (count: number, timeoutMs = 90_000) => {
    const from = load.acknowledged.length;
    await pollUntil('PATCHes to succeed again', () => load.acknowledged.length >= from + count, { timeoutMs });
  };
  while (done < kills && performance.now() < killUntilMs) {
    await untilServed(persons + 1);
    await pause(random.between(0, 3_000));
    const victims = chooseVictims(engines.urls.length, kills - done, random);
    const killedAt = performance.now();
    await Promise.all(victims.map((index) => engines.kill(index)));
    done += victims.length;
    const recovered = untilServed(1).then(() => recoveryMs.push(Math.round(performance.now() - killedAt)));
    await Promise.all(victims.map((index) => engines.start(index)));
    const backMs = Math.round(performance.now() - killedAt);
    await recovered;
    const names = victims.map((index) => `engine ${index + 1}`).join(' and ');
    say(
      `kill ${done}: ${names}, ${load.acknowledged.length} acknowledged, the next after ${recoveryMs.at(-1)} ms, back after ${backMs} ms`,
    );
  }
  await untilServed(persons + 1);
  return { done, recoveryMs };
}

function chooseVictims(count: number, left: number, random: KillOptions['random']): number[] {
  const one = random.below(count);
  const all = random.below(allAtOnceOneIn) === 0;
  return all && left >= count ? Array.from({ length: count }, (_, index) => index) : [one];
}
