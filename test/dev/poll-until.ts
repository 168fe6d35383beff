// Waits for something to become true, with a deadline and a label: tests never sleep.

import { setTimeout as delay } from 'node:timers/promises';

/** Asks every 10 ms until `isTrue`. @throws Error that carries the label after `deadlineMs` */
export async function pollUntil(
  label: string,
  isTrue: () => boolean | Promise<boolean>,
  deadlineMs = 5000,
): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error(`not within ${deadlineMs} ms: ${label}`);
    await delay(10);
  }
}
