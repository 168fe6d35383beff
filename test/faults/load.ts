// The load generator: clients that send requests of every kind, one after the other, until they are stopped.

import { setTimeout as pause } from 'node:timers/promises';
import type { SeededRandom } from '../stack/seeded-random.ts';
import type { Operations, Outcome } from './operations.ts';
import { pick } from './persons.ts';

export interface Load {
  /**
   * Stops sending new requests; resolves when the last request has ended.
   * @param repeatForMs time for which requests are still repeated until their outcome is known, in milliseconds
   */
  stop(repeatForMs?: number): Promise<void>;
}

export interface LoadOptions {
  readonly clients: number;
  /** Longest random pause of a client between two requests, in milliseconds. Default: 50. */
  readonly pauseMs?: number;
  /** Total number of PATCHes per second. The engine handles about seven events per second. Default: 3. */
  readonly patchesPerSecond?: number;
  /** Additional clients that send only writes with an `Idempotency-Key`. Default: 0. */
  readonly keyedClients?: number;
  /** Additional clients that send only asynchronous writes. Default: 0. */
  readonly laterClients?: number;
}

/** The default load of a case: slow clients of every kind, which show that other routes are not affected. */
export const lightLoad: LoadOptions = {
  ...{ clients: 3, pauseMs: 300, patchesPerSecond: 1 },
  ...{ keyedClients: 1, laterClients: 1 },
};

/** Returns a load with this share of the clients, rounded up, and of the PATCHes. */
export function shareOf(
  { clients, keyedClients, laterClients, patchesPerSecond, ...load }: LoadOptions,
  share: number,
) {
  const some = (count = 0) => Math.ceil(count * share);
  return {
    ...load,
    ...{ clients: some(clients), keyedClients: some(keyedClients), laterClients: some(laterClients) },
    patchesPerSecond: (patchesPerSecond ?? usualPatchesPerSecond) * share,
  } satisfies LoadOptions;
}

const usualPatchesPerSecond = 3;
/** Pause after a connection was refused or broke, in milliseconds. */
const refusedMs = 500;
/** Percentages of the kinds of requests; PATCHes have their own timer. */
const mix = { movie: 36, terms: 24, put: 20, refused: 8, health: 4, sync: 4, left: 4 } as const;
type Kind = keyof typeof mix;
const kinds = Object.entries(mix).flatMap(([kind, share]) => Array<Kind>(share).fill(kind as Kind));
/** Kinds that a separate client sends, because the other clients may all be waiting for an execution. */
const withoutExecution = ['health', 'refused', 'token', 'refused'] as const;
/** Longest pause of the separate client, in milliseconds. */
const withoutExecutionMs = 250;

/** Starts the clients. */
export function startLoad(operations: Operations, random: SeededRandom, options: LoadOptions): Load {
  const {
    clients,
    pauseMs = 50,
    patchesPerSecond = usualPatchesPerSecond,
    keyedClients = 0,
    laterClients = 0,
  } = options;
  const [stopping, givingUp] = [new AbortController(), new AbortController()];
  const { signal } = stopping;
  const client = async (send: () => Promise<Outcome>, longestMs = pauseMs) => {
    while (!signal.aborted && !operations.isOver) {
      const { status } = await send();
      // Without a connection, the client pauses longer.
      const ms = status === undefined ? refusedMs : random.between(0, longestMs);
      await pause(ms, undefined, { signal }).catch(() => undefined);
    }
  };
  const patches = new Set<Promise<unknown>>();
  const patch = () => {
    if (operations.isOver) return;
    const sent = operations.patch().finally(() => patches.delete(sent));
    patches.add(sent);
  };
  const timer = setInterval(patch, 1_000 / patchesPerSecond);
  const times = (count: number, send: () => Promise<Outcome>) => Array.from({ length: count }, () => client(send));
  const running = [
    ...times(clients, () => operations[pick(random, kinds)]()),
    client(() => operations[pick(random, withoutExecution)](), withoutExecutionMs),
    ...times(keyedClients, () => operations.keyed(givingUp.signal)),
    ...times(laterClients, () => operations.later(givingUp.signal)),
  ];
  return {
    async stop(repeatForMs = 0) {
      stopping.abort();
      clearInterval(timer);
      const lastRepetition = setTimeout(() => givingUp.abort(), repeatForMs);
      await Promise.all(running);
      await Promise.all(patches);
      clearTimeout(lastRepetition);
    },
  };
}
