// Ctrl-C during long work: the first ends it in an orderly way, the second at once.

export interface Interruption {
  readonly signal: AbortSignal;
  /** Ctrl-C is what it was again. */
  stop(): void;
}

/** Begins to listen for SIGINT and SIGTERM. */
export function startInterruption(): Interruption {
  const controller = new AbortController();
  const interrupt = () => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort();
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  return {
    signal: controller.signal,
    stop() {
      process.off('SIGINT', interrupt);
      process.off('SIGTERM', interrupt);
    },
  };
}
