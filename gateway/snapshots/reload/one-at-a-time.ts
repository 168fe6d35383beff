// Runs an async function without overlap: all requests that arrive during a run share one further run.

/** The next run; all requests for this run share one promise. */
interface RequestedRun {
  readonly reason: string;
  readonly done: PromiseWithResolvers<void>;
}

/** Serialises and coalesces runs of one async function. */
export class OneAtATime {
  readonly #run: (reason: string) => Promise<void>;
  #running: Promise<void> | undefined;
  #next: RequestedRun | undefined;

  /** @param run must not reject */
  constructor(run: (reason: string) => Promise<void>) {
    this.#run = run;
  }

  /**
   * Requests a run. Resolves at the end of the first run that starts after this call.
   * @param reason passed to the run; later requests for the same run do not change it
   */
  request(reason: string): Promise<void> {
    this.#next ??= { reason, done: Promise.withResolvers<void>() };
    const { done } = this.#next;
    this.#running ??= this.#runAll();
    return done.promise;
  }

  /** Resolves when no run is in progress or requested. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #runAll(): Promise<void> {
    for (let requested = this.#next; requested !== undefined; requested = this.#next) {
      this.#next = undefined;
      await this.#run(requested.reason);
      requested.done.resolve();
    }
    this.#running = undefined;
  }
}
