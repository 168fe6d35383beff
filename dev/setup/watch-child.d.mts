// Type declarations of watch-child.mjs.

import type { ChildProcess } from 'node:child_process';

/**
 * Starts a watcher that ends a child when this process dies: SIGTERM, then SIGKILL after 10 s. Needs /bin/sh.
 * @param child a process that has just been started
 */
export function watchChild(child: ChildProcess): void;
