// The engine's circuit breaker. It counts the outcomes of starts, and becomes half-open only after a successful health
// check.

import { type BreakerOptions, CircuitBreaker } from './circuit-breaker.ts';

/** Settings of the engine's circuit breaker. */
export interface EngineBreakerOptions extends BreakerOptions {
  /** Checks the engine's health. Returns false or rejects when the engine cannot serve. */
  isHealthy: () => Promise<boolean>;
}

/** Interval of the health checks after `openMs`, in milliseconds. */
const healthCheckMs = 500;

/**
 * A lost start leaves its client with an unknown outcome, so a start is used as the probe only after a successful
 * health check. Health alone is not enough: the engine reports healthy while its disk is full. A timer runs the checks,
 * because an instance that is not ready receives no requests that could trigger them.
 */
export class EngineBreaker extends CircuitBreaker {
  readonly #isHealthy: () => Promise<boolean>;
  readonly #thresholds: BreakerOptions['thresholds'];
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor({ isHealthy, ...options }: EngineBreakerOptions) {
    super({
      ...options,
      halfOpensAutomatically: false,
      onChange: (state) => {
        if (state === 'open') this.#scheduleHealthCheck(this.#thresholds().openMs);
        options.onChange?.(state);
      },
    });
    this.#isHealthy = isHealthy;
    this.#thresholds = options.thresholds;
  }

  /** Stops the health checks. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #scheduleHealthCheck(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#checkHealth(), ms);
  }

  async #checkHealth(): Promise<void> {
    const healthy = await this.#isHealthy().catch(() => false);
    if (healthy) return this.halfOpen();
    this.stayOpen();
    this.#scheduleHealthCheck(Math.min(healthCheckMs, this.#thresholds().openMs));
  }
}
