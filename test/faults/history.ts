// The history of a run: events of clients, back ends, MDM and the fault injector, one JSON line per event.

import { appendFileSync, readFileSync } from 'node:fs';
import type { BackEndEvent } from '../../dev/back-ends/history.ts';

/** Parts of the product that a fault may or may not affect; `keyed` stands for writes with an `Idempotency-Key`. */
export type Route = 'movies' | 'adaptor' | 'keyed' | 'lmsDW' | 'token' | 'health' | 'refused';

/** One event. `op` is the id of a client's request, sent as `X-Request-Id`; `at` is milliseconds since the epoch. */
export type HistoryEvent = { readonly at: number } & (
  | {
      readonly actor: 'client';
      readonly event: 'invoke';
      readonly op: string;
      readonly route: Route;
      /**
       * Method. For a request for the outcome of an execution: the method of the request that started the execution.
       */
      readonly method: string;
      /** Request target at the back end. */
      readonly target: string;
      /** Time within which the client must get a response, in milliseconds. */
      readonly budgetMs: number;
      /** `good`: the token allows the request. `bad`: the request must be rejected. */
      readonly auth: 'good' | 'bad';
      /** Requests with the same value are one operation: one `Idempotency-Key`, or one execution. Default: `op`. */
      readonly operation?: string | undefined;
      /** Address of the router that receives the request. */
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
      /** False when a 2xx response differs from the back end's. */
      readonly right?: boolean | undefined;
    }
  /** The connection ended without a response; `reason` is `gone` when the client left. */
  | { readonly actor: 'client'; readonly event: 'closed'; readonly op: string; readonly reason: string }
  | ({ readonly actor: 'nemesis'; readonly event: 'fault' } & FaultDescription)
  /** The fault is repaired; the requirements on spared routes end here too. */
  | { readonly actor: 'nemesis'; readonly event: 'repaired'; readonly what: string }
  /** A person's `cccid` at the end of the run: at the person's own college, in MDM, and at the other colleges. */
  | {
      readonly actor: 'observer';
      readonly event: 'person';
      readonly mis: string;
      readonly id: string;
      readonly cccid: string;
      /** Undefined when MDM does not know the person. */
      readonly mdm?: string | null | undefined;
      readonly others: Readonly<Record<string, string>>;
    }
  /** At the end of the run: whether the engine still has an execution that a response named. */
  | { readonly actor: 'observer'; readonly event: 'execution'; readonly executionId: string; readonly found: boolean }
  /**
   * A killed Redis was restarted. Of the `marks` test writes that it had acknowledged between its previous start and
   * the kill, `lost` were lost (watched-redis.ts).
   */
  | {
      readonly actor: 'observer';
      readonly event: 'restarted';
      readonly what: string;
      readonly appendfsync: 'everysec' | 'always';
      readonly marks: number;
      readonly lost: number;
      /** Time at which the newest surviving test write was acknowledged. */
      readonly from: number;
      /** When Redis was killed. */
      readonly to: number;
    }
);

export interface FaultDescription {
  readonly what: string;
  /** Kind of the fault, for the figures: `engine` for each of several engines. Default: `what`. */
  readonly kind?: string | undefined;
  /** Routes that must not be affected. */
  readonly spares: readonly Route[];
  /** Routes whose first success after the repair ends the recovery. */
  readonly breaks: readonly Route[];
  /** Address of a router that cannot respond while the fault lasts. */
  readonly stops?: string | undefined;
}

export type AnyEvent = HistoryEvent | BackEndEvent;

type OwnContent = HistoryEvent extends infer E ? (E extends HistoryEvent ? Omit<E, 'at'> : never) : never;

/** Returns the milliseconds since the epoch, monotonic within this process. */
export const now = () => performance.timeOrigin + performance.now();

/** A history file, to which other processes append as well. */
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

/** Parses the text of a history file. */
function parseHistory(text: string): AnyEvent[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AnyEvent);
}
