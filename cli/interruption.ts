// Handles Ctrl-C during long-running work: the first aborts an AbortSignal, the second ends the process.

import type { Host } from './host.ts';

/** A running listener for SIGINT, SIGTERM and SIGHUP. */
export interface Interruption {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal;
  /** Removes the signal listeners. */
  stop(): void;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Starts to listen. A second signal ends the process with exit code 130. */
export function listenForInterruption(host: Host): Interruption {
  const controller = new AbortController();
  const interrupt = () => {
    if (controller.signal.aborted) host.exit(130);
    controller.abort();
  };
  for (const signal of signals) host.on(signal, interrupt);
  return {
    signal: controller.signal,
    stop() {
      for (const signal of signals) host.off(signal, interrupt);
    },
  };
}
