// Kills one part of the cluster after the other, starts each again, and takes the time until clients notice nothing more.

import { setTimeout as pause } from 'node:timers/promises';
import type { History } from '../faults/history.ts';
import { pollUntil } from '../stack/poll-until.ts';
import type { SeededRandom } from '../stack/seeded-random.ts';
import type { Component } from './component.ts';
import type { ClusterLoad, Sent } from './load.ts';

/** One kill and what came of it. */
export interface Kill {
  readonly name: string;
  /** performance.now() of the kill and of the moment at which the part worked again. */
  readonly killedAt: number;
  readonly backAt: number;
  /** Every request that was sent after the kill and before the next, or was under way when it happened. */
  readonly sent: readonly Sent[];
  /** False when requests still failed a minute and a half after it was back. */
  readonly recovered: boolean;
}

/** No request has failed, and none is older, for this long: clients notice nothing more, in milliseconds. */
const calmMs = 4_000;
const calmDeadlineMs = 90_000;

export interface NemesisOptions {
  readonly components: readonly Component[];
  readonly load: ClusterLoad;
  readonly history: History;
  readonly random: SeededRandom;
  readonly say: (line: string) => void;
}

/** Each part is killed once. The pauses before a kill and before the start after it are the seed's. */
export async function killEach({ components, load, history, random, say }: NemesisOptions): Promise<Kill[]> {
  const kills: Kill[] = [];
  for (const component of components) {
    await pause(random.between(500, 3_000));
    const from = load.sent.findIndex(({ endedAt }) => endedAt === undefined);
    history.append({ actor: 'nemesis', event: 'fault', what: component.name, spares: [] });
    const killedAt = performance.now();
    await component.kill();
    await pause(random.between(200, 2_000));
    await component.start();
    const backAt = performance.now();
    history.append({ actor: 'nemesis', event: 'repaired', what: component.name });
    const recovered = await untilCalm(load, backAt);
    const sent = load.sent
      .slice(from === -1 ? load.sent.length : from)
      .filter(({ endedAt }) => endedAt === undefined || endedAt >= killedAt);
    kills.push({ name: component.name, killedAt, backAt, sent, recovered });
    const failed = sent.filter(hasFailed).length;
    say(`${component.name} killed: back after ${Math.round(backAt - killedAt)} ms, ${failed} of ${sent.length} failed`);
  }
  return kills;
}

/** Ended without a response, or with 5xx. */
export function hasFailed({ outcome }: Sent): boolean {
  return outcome !== undefined && (outcome.status === undefined || outcome.status >= 500);
}

function untilCalm({ sent }: ClusterLoad, backAt: number): Promise<boolean> {
  return pollUntil(
    'clients to notice nothing more',
    () => {
      const since = performance.now() - calmMs;
      if (since < backAt) return false;
      const lately = sent.slice(-latest);
      const isOld = (entry: Sent) => entry.outcome === undefined && entry.sentAt < since;
      const failedLately = (entry: Sent) => (entry.endedAt ?? 0) > since && hasFailed(entry);
      return !lately.some((entry) => isOld(entry) || failedLately(entry));
    },
    { timeoutMs: calmDeadlineMs, everyMs: 250 },
  ).catch(() => false);
}

/** More requests than clients can have under way or have ended within the calm. */
const latest = 1_000;
