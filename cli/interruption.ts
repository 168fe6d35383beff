// Ctrl-C during long work: the first ends it in an orderly way, the second at once.

import type { Host } from './host.ts';

export interface Interruption {
  readonly signal: AbortSignal;
  /** Ctrl-C is what it was again. */
  stop(): void;
}

/** Begins to listen for SIGINT and SIGTERM. */
export function startInterruption(host: Host): Interruption {
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
