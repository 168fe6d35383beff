// Types of lock.mjs.

/**
 * Waits until the lock is ours. A lock whose owner has died is taken over.
 * @param path the lock file; its folder must exist
 * @param options `onWait` is called once, with the owner's pid, when another process holds it
 * @returns releases it
 */
export function acquireLock(path: string, options?: { onWait?: (pid: number) => void }): Promise<() => void>;

/**
 * Takes the lock when nobody who lives holds it.
 * @param path the lock file; its folder must exist
 * @returns `release` when it is ours; `owner` is the pid that holds it
 */
export function tryLock(path: string): { release?: () => void; owner: number };
