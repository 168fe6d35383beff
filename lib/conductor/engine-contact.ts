// Records whether the engine has responded since this program started.

/**
 * Tracks the first contact with the engine. Before it, an unreachable engine may still be starting, which is not an
 * outage.
 */
export class EngineContact {
  readonly #onMade: () => void;
  #isMade = false;

  /** @param onMade called once, at the first response */
  constructor(onMade: () => void = () => undefined) {
    this.#onMade = onMade;
  }

  /** True once the engine has responded. */
  get isMade(): boolean {
    return this.#isMade;
  }

  /** Records a response, whatever its status. */
  made(): void {
    if (this.#isMade) return;
    this.#isMade = true;
    this.#onMade();
  }
}
