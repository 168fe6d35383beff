// Reads the id of the machine's current boot. Unlike the boot time, the id does not change when the clock is set.

import { readFileSync } from 'node:fs';

/** Returns the boot id (random(4)); undefined on systems other than Linux. */
export function readBootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}
