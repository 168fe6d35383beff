// The host process as the CLI sees it: `process` in production, a fake in tests.

import type { EventEmitter } from 'node:events';

/** Environment, streams and signals of a run. Commands use these instead of those of `process`. */
export interface Host {
  /** Environment variables: they set the configuration and decide whether colours are used. */
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** Receives results. */
  readonly stdout: Output;
  /** Receives errors, questions and progress. */
  readonly stderr: Output;
  /** SIGINT, SIGTERM and SIGHUP, as `process` emits them. */
  readonly on: Listen;
  readonly off: Listen;
  /** Ends the process immediately: after a second Ctrl-C, and at the end of `start`. */
  exit(code: number): never;
}

/** An output stream, possibly a terminal. */
export type Output = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

type Listen = (signal: NodeJS.Signals, listener: () => void) => Pick<EventEmitter, 'off'>;
