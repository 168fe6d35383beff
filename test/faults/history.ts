// The history of a run: what clients, back ends, MDM and the fault injector did, one JSON line an event.

import { appendFileSync, readFileSync } from 'node:fs';
import type { BackEndEvent } from '../../dev/back-ends/history.ts';

/** Parts of the product that a fault may or may not touch; `keyed` are writes with an `Idempotency-Key`. */
export type Route = 'movies' | 'adaptor' | 'keyed' | 'lmsDW' | 'token' | 'health' | 'refused';

/** One line. `op` is the id of a client's request, sent as `X-Request-Id`; `at` is milliseconds since the epoch. */
export type HistoryEvent = { readonly at: number } & (
  | {
      readonly actor: 'client';
      readonly event: 'invoke';
      readonly op: string;
      readonly route: Route;
      /** For a request for the outcome of an execution: the method of the request that started it. */
      readonly method: string;
      /** What the back end sees as its request target. */
      readonly target: string;
      /** How long the client may be kept waiting, in milliseconds. */
      readonly budgetMs: number;
      /** `good` is a token that may do this; anything else must be refused. */
      readonly auth: 'good' | 'bad';
      /** All requests with one value are one operation: one `Idempotency-Key`, or one execution. Default: `op`. */
      readonly operation?: string | undefined;
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
  | ({ readonly actor: 'nemesis'; readonly event: 'fault' } & FaultDescription)
  /** Everything is there again; what spared routes must hold ends here too. */
  | { readonly actor: 'nemesis'; readonly event: 'repaired'; readonly what: string }
  /** A person's `cccid` when the run had come to rest: at its college, in MDM, at the other colleges. */
  | {
      readonly actor: 'observer';
      readonly event: 'person';
      readonly mis: string;
      readonly id: string;
      readonly cccid: string;
      /** Undefined where MDM does not know the person. */
      readonly mdm?: string | null | undefined;
      readonly others: Readonly<Record<string, string>>;
    }
  /** Whether the engine still has an execution that a response named, when the run had come to rest. */
  | { readonly actor: 'observer'; readonly event: 'execution'; readonly executionId: string; readonly found: boolean }
  /** What a killed Redis still had of the marks that it had acknowledged since its start before. */
  | {
      readonly actor: 'observer';
      readonly event: 'restarted';
      readonly what: string;
      readonly appendfsync: 'everysec' | 'always';
      readonly marks: number;
      readonly lost: number;
      /** When the newest mark that it still had was acknowledged. */
      readonly from: number;
      /** When it was killed. */
      readonly to: number;
    }
);

export interface FaultDescription {
  readonly what: string;
  /** What breaks, for the figures: `engine` for each of several engines. Default `what`. */
  readonly kind?: string | undefined;
  /** Routes that must not notice it. */
  readonly spares: readonly Route[];
  /** Routes whose first success after the repair ends the recovery. */
  readonly breaks: readonly Route[];
  /** Address of a router that cannot respond while the fault lasts. */
  readonly stops?: string | undefined;
}

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
    return parseHistory(readFileSync(this.file, 'utf8'));
  }
}

/** Returns the events of a history file's text. */
export function parseHistory(text: string): AnyEvent[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AnyEvent);
}
