// Ends a child process when this process dies. Plain JavaScript, since it runs before the installation.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const exitWithParent = fileURLToPath(new URL('./exit-with-parent.sh', import.meta.url));

/**
 * Starts a watcher that ends a child when this process dies. The watcher does not start the child itself, because some
 * shells drop variables whose names are not identifiers, such as `client.demo.misCodes`.
 * @param {import('node:child_process').ChildProcess} child a process that has just been started
 */
export function watchChild(child) {
  // The child could not be started.
  if (child.pid === undefined) return;
  // In its own session, because signals to the process group of this process must not end the watcher.
  const watcher = spawn('/bin/sh', [exitWithParent, String(child.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // The child runs even if the watcher cannot be started or has been killed.
  for (const emitter of [watcher, watcher.stdin]) emitter?.on('error', () => {});
  child.on('exit', () => watcher.stdin?.end('ended\n'));
}
