// Handles Ctrl-C during long work: the first aborts a signal, the second ends the process.

import type { Host } from './host.ts';

/** A running listener for SIGINT and SIGTERM. */
export interface Interruption {
  /** Aborted by the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  /** Removes the signal listeners. */
  stop(): void;
}

/** Starts to listen for SIGINT and SIGTERM. A second signal ends the process with exit code 130. */
export function listenForInterruption(host: Host): Interruption {
  const controller = new AbortController();
  const interrupt = () => {
    if (controller.signal.aborted) host.exit(130);
    controller.abort();
  };
  host.on('SIGINT', interrupt);
  host.on('SIGTERM', interrupt);
  return {
    signal: controller.signal,
    stop() {
      host.off('SIGINT', interrupt);
      host.off('SIGTERM', interrupt);
    },
  };
}
