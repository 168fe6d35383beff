// The interface of error trackers.

/** Reports errors to an external service. */
export interface ErrorTracker {
  /**
   * Reports an error in the background; never throws and never waits. The same error object is reported once.
   * @param fields become tags when their names are in `reportedFields`; all other fields are dropped
   */
  report(error: unknown, fields?: Readonly<Record<string, string>>): void;
  /**
   * Sends the queued reports and releases all resources.
   * @param timeoutMs time in milliseconds after which it gives up
   */
  close(timeoutMs: number): Promise<void>;
}
