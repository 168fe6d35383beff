// The id of the current boot of the machine: unlike times, it stays the same when the clock is set.

import { readFileSync } from 'node:fs';

/** Returns the id (random(4)); undefined except on Linux. */
export function readBootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}
