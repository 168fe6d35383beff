// Runs something one at a time: whoever asks while it runs gets one more run after it, however many ask.

interface Asked {
  readonly reason: string;
  readonly done: PromiseWithResolvers<void>;
}

export class OneAtATime {
  readonly #run: (reason: string) => Promise<void>;
  #running: Promise<void> | undefined;
  #next: Asked | undefined;

  /** @param run must not reject */
  constructor(run: (reason: string) => Promise<void>) {
    this.#run = run;
  }

  /** Resolves when a run that began after this call is over: it has seen whatever was there by now. */
  ask(reason: string): Promise<void> {
    this.#next ??= { reason, done: Promise.withResolvers<void>() };
    const { done } = this.#next;
    this.#running ??= this.#runAll();
    return done.promise;
  }

  /** Resolves when nothing runs and nobody waits for a run. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #runAll(): Promise<void> {
    for (let asked = this.#next; asked !== undefined; asked = this.#next) {
      this.#next = undefined;
      await this.#run(asked.reason);
      asked.done.resolve();
    }
    this.#running = undefined;
  }
}
