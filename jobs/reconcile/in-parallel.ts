// Processes the items of a list with bounded concurrency.

/** Limits and functions for {@link inParallel}. */
export interface InParallelOptions<T> {
  /** Number of items that are processed concurrently. */
  readonly limit: number;
  /**
   * Returns false for an item that has to wait; it is considered again whenever another item has ended. Default: true.
   */
  readonly mayStart?: (item: T) => boolean;
  /** Processes an item; resolves to true when the item has to be processed again. */
  readonly work: (item: T) => Promise<boolean>;
}

/**
 * Starts items in order. Resolves when no item is in progress and no other may start.
 * @throws the first error, once the items in progress have ended
 */
export async function inParallel<T>(
  items: readonly T[],
  { limit, mayStart = () => true, work }: InParallelOptions<T>,
): Promise<void> {
  const left = new Set(items);
  const atWork = new Set<Promise<void>>();
  const start = (item: T) => {
    left.delete(item);
    const ended = work(item)
      .then((again) => void (again && left.add(item)))
      .finally(() => atWork.delete(ended));
    atWork.add(ended);
  };
  const startAll = () => {
    for (const item of left) {
      if (atWork.size >= limit) return;
      if (mayStart(item)) start(item);
    }
  };
  try {
    for (startAll(); atWork.size > 0; startAll()) await Promise.race(atWork);
  } finally {
    await Promise.allSettled(atWork);
  }
}
