// A load generator: clients that send one request after the other, of every kind, until they are told to stop.

import { setTimeout as pause } from 'node:timers/promises';
import type { Operations } from './operations.ts';

export interface Load {
  /** Resolves when the last request has ended. */
  stop(): Promise<void>;
}

export interface LoadOptions {
  readonly clients: number;
  /** Longest random pause of a client between two requests, in milliseconds. Default 50. */
  readonly pauseMs?: number;
  /** PATCHes a second over all clients: MDM hears of about seven a second. Default 3. */
  readonly patchesPerSecond?: number;
  /** False: nobody asks for tokens. */
  readonly tokens?: boolean;
  /** Clients besides that send only writes, each with an `Idempotency-Key`, and repeat them. Default 0. */
  readonly keyedClients?: number;
}

/** Pause after a connection that was refused or broke, in milliseconds. */
const refusedMs = 500;
/** Kinds of requests and how many of a hundred they are; PATCHes come by their own clock. */
const mix = { movie: 40, terms: 22, put: 18, refused: 12, health: 6, token: 2 } as const;
const kinds = Object.entries(mix).flatMap(([kind, share]) => Array<keyof typeof mix>(share).fill(kind as 'movie'));

export function startLoad(operations: Operations, options: LoadOptions): Load {
  const { clients, pauseMs = 50, patchesPerSecond = 3, tokens = true, keyedClients = 0 } = options;
  const chosen = tokens ? kinds : kinds.filter((kind) => kind !== 'token');
  const stopping = new AbortController();
  const client = async () => {
    while (!stopping.signal.aborted && !operations.isOver) {
      const { status } = await operations[chosen[Math.floor(Math.random() * chosen.length)] as keyof typeof mix]();
      // Nobody answers: a client with manners comes again a little later.
      await pause(status === undefined ? refusedMs : Math.random() * pauseMs);
    }
  };
  const keyedClient = async () => {
    while (!stopping.signal.aborted && !operations.isOver) {
      await operations[Math.random() < 0.5 ? 'keyedPut' : 'keyedPatch'](stopping.signal);
      await pause(Math.random() * pauseMs);
    }
  };
  const patches: Promise<unknown>[] = [];
  const patch = () => operations.isOver || patches.push(operations.patch());
  const timer = setInterval(patch, 1_000 / patchesPerSecond);
  const running = [...Array.from({ length: clients }, client), ...Array.from({ length: keyedClients }, keyedClient)];
  return {
    async stop() {
      stopping.abort();
      clearInterval(timer);
      await Promise.all(running);
      await Promise.all(patches);
    },
  };
}
