// What an object of somebody else's carries for us: a request, a connection.

/**
 * Like a WeakMap, with the value kept on the object itself, under a symbol of its own.
 *
 * What a young WeakMap entry holds survives V8's quick collections, although nobody can reach it. With an entry for
 * each request that was nearly half of all that was allocated.
 */
export class Attachment<O extends object, V> {
  readonly #key: symbol;

  /** @param name for people who look at the object */
  constructor(name: string) {
    this.#key = Symbol(name);
  }

  get(carrier: O): V | undefined {
    return (carrier as Record<symbol, V | undefined>)[this.#key];
  }

  set(carrier: O, value: V): void {
    (carrier as Record<symbol, V | undefined>)[this.#key] = value;
  }
}
