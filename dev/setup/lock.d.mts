// Type declarations of lock.mjs.

/**
 * Waits for the lock and acquires it. A lock whose owner has died is removed.
 * @param path the lock file; its folder must exist
 * @param options `onWait` is called once, with the owner's pid, when another process holds it
 * @returns a function that releases the lock
 */
export function acquireLock(path: string, options?: { onWait?: (pid: number) => void }): Promise<() => void>;

/**
 * Acquires the lock unless a running process holds it.
 * @param path the lock file; its folder must exist
 * @returns `release` when the lock was acquired; `owner` is the pid that holds the lock
 */
export function tryLock(path: string): { release?: () => void; owner: number };
