// A queue of the commands that wait for the end of a Redis outage, in the order in which they were called.

import type { RedisCommand } from './redis-command.ts';

/** A command that runs now or after an outage, in the order of the calls. */
export interface EventualCommand {
  readonly order: number;
  readonly command: RedisCommand<unknown>;
  /** Called if the command will never run. A command without `onDropped` is dropped before the others. */
  readonly onDropped: (() => void) | undefined;
  /** Resolves the promise that the caller received. */
  readonly resolve: () => void;
}

/** Maximum number of postponed commands. */
const maxPostponed = 10_000;

/** A list of postponed commands in order, limited to 10,000. */
export class PostponedCommands {
  readonly #commands: EventualCommand[] = [];
  /** All commands before this index have `onDropped`, so the search for a command without it begins here. */
  #searchFrom = 0;

  /** Number of postponed commands. */
  get length(): number {
    return this.#commands.length;
  }

  /**
   * Adds a command before the commands of later calls.
   * @returns the command that is dropped when the limit is exceeded: the first one without `onDropped` or, if there is
   *   none, the first one; undefined when no command is dropped
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

  /** Removes and returns the first `count` commands. Default: all. */
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
