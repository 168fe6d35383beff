// A list of stop functions that run in the reverse order of their registration.

import { withDeadline } from '#lib/process/deadline.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';

/**
 * Time limit for each stop function, in milliseconds. It is longer than stop functions usually take: those for MDM
 * updates and pending cancellations wait several seconds for calls to the engine.
 */
const stopDeadlineMs = 60_000;

interface Stop {
  readonly name: string;
  readonly stop: () => void | Promise<void>;
}

/** Runs stop functions in reverse order of registration. */
export class Stops {
  readonly #log: Logger;
  readonly #stops: Stop[] = [];
  #hasStopped = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  /**
   * Adds a stop function, or runs it at once if `run` has been called.
   * @param name names the component in the log when it fails to stop
   */
  add(name: string, stop: () => void | Promise<void>): void {
    if (this.#hasStopped) void this.#stop({ name, stop });
    else this.#stops.push({ name, stop });
  }

  /**
   * Runs each stop function once, one after the other. A failure, or a stop function that has not ended before its
   * deadline, is logged and does not keep the other functions from running.
   */
  async run(): Promise<void> {
    this.#hasStopped = true;
    for (const stop of this.#stops.splice(0).toReversed()) await this.#stop(stop);
  }

  async #stop({ name, stop }: Stop): Promise<void> {
    try {
      await withDeadline('the stop function', stopDeadlineMs, stop());
    } catch (error) {
      this.#log.error({ name, ...errorFields(error) }, 'did not stop cleanly');
    }
  }
}
