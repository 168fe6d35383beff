// A system of the comparison: how it is started, what one request is, and what is stored when its response arrives.

import type { Run } from '../run.ts';
import type { Call } from '../targets/http-client.ts';

export interface Peer {
  /** Short name of the command line. */
  readonly name: string;
  /** Name in tables and in the chart. */
  readonly title: string;
  /** Programs, their versions and settings other than the defaults. */
  readonly setup: string;
  /** What of a request is stored when its response arrives. */
  readonly durability: string;
  /** True when that was synchronised to disk (fsync). */
  readonly isSynced: boolean;
  /** True for this product. */
  readonly isRouter?: boolean;
  /** Starts the system; `run.onEnd` stops it. @throws Error that says why it cannot run here */
  start(run: Run, options: PeerOptions): Promise<RunningPeer>;
}

export interface PeerOptions {
  /** What the step calls. */
  readonly backEndUrl: string;
}

export interface RunningPeer {
  /** Where requests are sent. */
  readonly url: string;
  /** Each is the same request for a movie. */
  readonly call: Call;
  /** The processes of the system; those that they start count too. */
  readonly pids: readonly number[];
}

/** The request of every system with an HTTP interface of its own. */
export const movieCall: Call = { path: '/movies/Metropolis' };
