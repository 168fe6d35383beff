// The process the CLI runs in, as far as the CLI knows it: `process` is one, and a test makes its own.

import type { EventEmitter } from 'node:events';

/** Everything that a run takes from outside. Nothing in this directory but `main.ts` touches `process`. */
export interface Host {
  /** Configuration, and whether there are colours. */
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** Results. */
  readonly stdout: Output;
  /** What is wrong, questions, progress. */
  readonly stderr: Output;
  /** SIGINT, SIGTERM and SIGHUP, as `process` emits them. */
  readonly on: Listen;
  readonly once: Listen;
  readonly off: Listen;
  /** Ends the process at once: for whoever presses Ctrl-C twice. */
  exit(code: number): never;
}

export type Output = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

type Listen = (signal: NodeJS.Signals, listener: () => void) => Pick<EventEmitter, 'off'>;
