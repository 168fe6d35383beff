// The history of a run: what clients, back ends, MDM and the fault injector did, one JSON line an event.

import { appendFileSync, readFileSync } from 'node:fs';
import type { BackEndEvent } from '../../dev/back-ends/history.ts';

/** Parts of the product that a fault may or may not touch. */
export type Route = 'movies' | 'adaptor' | 'lmsDW' | 'token' | 'health' | 'refused';

/** One line. `op` is the id of a client's request, sent as `X-Request-Id`; `at` is milliseconds since the epoch. */
export type HistoryEvent = { readonly at: number } & (
  | {
      readonly actor: 'client';
      readonly event: 'invoke';
      readonly op: string;
      readonly route: Route;
      readonly method: string;
      /** What the back end sees as its request target. */
      readonly target: string;
      /** How long the client may be kept waiting, in milliseconds. */
      readonly budgetMs: number;
      /** `good` is a token that may do this; anything else must be refused. */
      readonly auth: 'good' | 'bad';
      /** The client's own `Idempotency-Key`: all requests with one key are one operation. */
      readonly key?: string | undefined;
      /** Address of the router that gets it. */
      readonly router?: string | undefined;
    }
  | {
      readonly actor: 'client';
      readonly event: 'answer';
      readonly op: string;
      readonly status: number;
      /** Last part of a problem document's `type`; absent for a back end's own response. */
      readonly problem?: string | undefined;
      readonly executionId?: string | undefined;
      /** False when a 2xx response is not the one that the back end gives. */
      readonly right?: boolean | undefined;
    }
  /** The connection ended without a response: `gone` when the client itself left. */
  | { readonly actor: 'client'; readonly event: 'closed'; readonly op: string; readonly reason: string }
  | {
      readonly actor: 'nemesis';
      readonly event: 'fault';
      readonly what: string;
      readonly spares: readonly Route[];
      /** Address of a router that cannot respond while the fault lasts. */
      readonly stops?: string | undefined;
    }
  /** Everything is there again; what spared routes must hold ends here too. */
  | { readonly actor: 'nemesis'; readonly event: 'repaired'; readonly what: string }
);

export type AnyEvent = HistoryEvent | BackEndEvent;

type OwnContent = HistoryEvent extends infer E ? (E extends HistoryEvent ? Omit<E, 'at'> : never) : never;

/** Milliseconds since the epoch, monotonic within this process. */
export const now = () => performance.timeOrigin + performance.now();

/** Appends to a history file that other processes append to as well. */
export class History {
  readonly file: string;

  constructor(file: string) {
    this.file = file;
    appendFileSync(file, '');
  }

  append(content: OwnContent): void {
    appendFileSync(this.file, `${JSON.stringify({ at: now(), ...content })}\n`);
  }

  read(): AnyEvent[] {
    const lines = readFileSync(this.file, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as AnyEvent);
  }
}
