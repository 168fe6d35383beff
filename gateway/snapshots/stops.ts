// What has to be stopped, in the reverse order of its start.

import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';

export class Stops {
  readonly #log: Logger;
  readonly #stops: { name: string; stop: () => void | Promise<void> }[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  add(name: string, stop: () => void | Promise<void>): void {
    this.#stops.push({ name, stop });
  }

  /** Stops each once, the last one first; one that fails is logged and keeps no other from it. */
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
