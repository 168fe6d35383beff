// The engine's circuit breaker: fed by starts; it asks for the engine's health before it risks a client's request.

import { type BreakerOptions, CircuitBreaker } from './circuit-breaker.ts';

export interface EngineBreakerOptions extends BreakerOptions {
  /** Asks the engine; false or a rejection when it cannot serve. */
  isHealthy: () => Promise<boolean>;
}

/** Once `openMs` is over and the engine is still away, its health is asked this often, in milliseconds. */
const askAgainMs = 500;

/**
 * A start that is lost leaves its client with an unknown outcome. So the probe of half-open is a start only when the
 * engine's health answers again; health alone would not do, for it is good while the engine's disk is full. The
 * time between is kept by a timer: an instance that is not ready gets no requests that could ask.
 */
export class EngineBreaker extends CircuitBreaker {
  readonly #isHealthy: () => Promise<boolean>;
  readonly #thresholds: BreakerOptions['thresholds'];
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor({ isHealthy, ...options }: EngineBreakerOptions) {
    super({
      ...options,
      halfOpensItself: false,
      onChange: (state) => {
        if (state === 'open') this.#askIn(this.#thresholds().openMs);
        options.onChange?.(state);
      },
    });
    this.#isHealthy = isHealthy;
    this.#thresholds = options.thresholds;
  }

  /** Asks no more. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #askIn(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#ask(), ms);
  }

  async #ask(): Promise<void> {
    const healthy = await this.#isHealthy().catch(() => false);
    if (healthy) return this.halfOpen();
    this.stayOpen();
    this.#askIn(Math.min(askAgainMs, this.#thresholds().openMs));
  }
}
