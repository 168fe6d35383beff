// The commands that wait for the end of an outage of Redis, in the order of their calls.

import type { RedisCommand } from './redis-command.ts';

/** A command that runs now or later, in the order of the calls. */
export interface EventualCommand {
  readonly order: number;
  readonly command: RedisCommand<unknown>;
  /** Called if the command will never run; undefined for a command that is dropped before others. */
  readonly onDropped: (() => void) | undefined;
  /** Resolves the promise of the call. */
  readonly resolve: () => void;
}

/** Limit of postponed commands. */
const maxPostponed = 10_000;

/** An ordered list of postponed commands, limited to 10,000. */
export class PostponedCommands {
  readonly #commands: EventualCommand[] = [];
  /** All commands before this index have `onDropped`, so a search for one without it begins here. */
  #searchFrom = 0;

  /** Number of postponed commands. */
  get length(): number {
    return this.#commands.length;
  }

  /**
   * Adds a command, before those of later calls.
   * @returns the command that is dropped because of the limit, if any: the first one without `onDropped` or, if there is
   *   none, the first one
   */
  add(added: EventualCommand): EventualCommand | undefined {
    const place = this.#commands.findLastIndex(({ order }) => order < added.order) + 1;
    // `splice` moves all later commands, which takes tens of microseconds; `push` and `shift` do not.
    if (place === this.#commands.length) this.#commands.push(added);
    else this.#commands.splice(place, 0, added);
    if (place < this.#searchFrom) this.#searchFrom = added.onDropped === undefined ? place : this.#searchFrom + 1;
    return this.#commands.length > maxPostponed ? this.#removeOne() : undefined;
  }

  #removeOne(): EventualCommand | undefined {
    while (this.#commands[this.#searchFrom]?.onDropped !== undefined) this.#searchFrom++;
    if (this.#searchFrom < this.#commands.length) return this.#commands.splice(this.#searchFrom, 1)[0];
    this.#searchFrom -= 1;
    return this.#commands.shift();
  }

  /** Removes the first commands, and returns them. Default: all. */
  take(count: number = maxPostponed): EventualCommand[] {
    const taken = this.#commands.splice(0, count);
    this.#searchFrom = Math.max(this.#searchFrom - taken.length, 0);
    return taken;
  }

  /** Resolves the promises of all calls, and keeps the commands. */
  resolveAll(): void {
    for (const { resolve } of this.#commands) resolve();
  }
}
