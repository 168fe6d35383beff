// Releases a lock, which is a Redis key whose value identifies the holder.

import type { Redis } from './redis.ts';

const deleteIfHeld = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;

/**
 * Deletes the key, now or after a Redis outage, but only if this holder still has the lock. The lock may have expired
 * and may belong to another holder.
 * @returns a promise that resolves when the key is deleted or the command is postponed; never rejects
 */
export function releaseLock(redis: Redis, key: string, holder: string): Promise<void> {
  return redis.runEventually((client) => client.eval(deleteIfHeld, { keys: [key], arguments: [holder] }));
}
