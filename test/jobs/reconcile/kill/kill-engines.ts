// Kills engines under load, at moments that a seed decides, and starts them again.

import { setTimeout as pause } from 'node:timers/promises';
import type { EngineServers } from '../../../stack/engine-servers.ts';
import { pollUntil } from '../../../stack/poll-until.ts';
import type { KillOptions } from './options.ts';
import type { PatchLoad } from './patch-load.ts';

export interface Kills {
  readonly done: number;
  /** From each kill to the next PATCH that succeeded, in milliseconds. */
  readonly recoveryMs: readonly number[];
}

/** With several engines, one time in so many all of them are killed at once. */
const allAtOnceOneIn = 5;

/** Kills as many as were asked for, or as time allows; each engine runs again at the end and PATCHes have succeeded. */
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
