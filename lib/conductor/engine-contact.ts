// Whether the engine has answered since this program began to call it.

/** Until the first answer the engine may be starting, as beside a router that was started with it: that is no outage. */
export class EngineContact {
  readonly #onMade: () => void;
  #isMade = false;

  /** @param onMade called once, at the first answer */
  constructor(onMade: () => void = () => undefined) {
    this.#onMade = onMade;
  }

  get isMade(): boolean {
    return this.#isMade;
  }

  /** The engine has answered, whatever it said. */
  made(): void {
    if (this.#isMade) return;
    this.#isMade = true;
    this.#onMade();
  }
}
