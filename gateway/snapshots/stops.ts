// A list of stop functions that run in the reverse order of their registration.

import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';

/** Runs stop functions in reverse order of registration. */
export class Stops {
  readonly #log: Logger;
  readonly #stops: { name: string; stop: () => void | Promise<void> }[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  /** @param name names the component in the log when it fails to stop */
  add(name: string, stop: () => void | Promise<void>): void {
    this.#stops.push({ name, stop });
  }

  /** Runs each stop function once, one after the other. A failure is logged and does not prevent the others. */
  async run(): Promise<void> {
    for (const { name, stop } of this.#stops.splice(0).toReversed()) {
      try {
        await stop();
      } catch (error) {
        this.#log.error({ name, ...errorFields(error) }, 'did not stop cleanly');
      }
    }
  }
}
