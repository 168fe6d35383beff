// Describes a system of the comparison: how to start it, its request, and the data it has stored when it responds.

import type { Run } from '../run.ts';
import type { Call } from '../targets/http-client.ts';

export interface Peer {
  /** Short name for the command line. */
  readonly name: string;
  /** Name in tables and in the chart. */
  readonly title: string;
  /** The programs, their versions, and the settings that differ from the defaults. */
  readonly setup: string;
  /** Which data of a request is stored when its response arrives. */
  readonly durability: string;
  /** True when the stored data was synchronised to disk (fsync) before the response. */
  readonly isSynced: boolean;
  /** True for this product. */
  readonly isRouter?: boolean;
  /** Starts the system; `run.onEnd` stops it. @throws Error that says why it cannot run here */
  start(run: Run, options: PeerOptions): Promise<RunningPeer>;
}

export interface PeerOptions {
  /** URL of the back end, which each system calls once per request. */
  readonly backEndUrl: string;
}

export interface RunningPeer {
  /** URL to which requests are sent. */
  readonly url: string;
  /** The request for a movie, in the form that the system expects. */
  readonly call: Call;
  /** Ids of the system's processes. The figures include their children. */
  readonly pids: readonly number[];
}

/** The request to every system that is called through an Express program of the benchmark. */
export const movieCall: Call = { path: '/movies/Metropolis' };
