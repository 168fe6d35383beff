// The state directory of a stack: only its owner may read it, and only one stack may use it.

import { chmodSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from '../setup/lock.mjs';

/** Folders that a stack writes to, besides files beside them. */
const folders = new Set(['engine', 'identity-provider', 'logs']);
/** Files of a stack: its lock and addresses, and the databases of the back-end stand-ins. */
const files = /^(stack\.|back-ends\.sqlite)/;

/**
 * Makes the directory and what a stack has left there readable by its owner only, and takes its lock.
 * From now on this process and its children write such files only: they hold personal data, keys and requests.
 * @returns releases the lock
 * @throws Error for people, when another stack runs there or the directory belongs to somebody else
 */
export function openStateDir(stateDir: string): () => void {
  process.umask(0o077);
  try {
    mkdirSync(stateDir, { recursive: true });
    // Where everybody may write, such as in /tmp, others need the directory as well.
    if ((lstatSync(stateDir).mode & 0o1000) === 0) chmodSync(stateDir, 0o700);
    for (const name of readdirSync(stateDir)) {
      if (folders.has(name) || files.test(name)) closeToOthers(join(stateDir, name));
    }
  } catch (error) {
    throw new Error(
      `The state directory ${stateDir} cannot be closed to other users (${(error as Error).message}): set STATE_DIR to a folder of your own.`,
      { cause: error },
    );
  }
  const { release, owner } = tryLock(join(stateDir, 'stack.lock'));
  if (release) return release;
  throw new Error(`Another stack (process ${owner}) runs on ${stateDir}: stop it, or set STATE_DIR to another folder.`);
}

/** 0700 for directories, 0600 for files; links are left alone. */
function closeToOthers(path: string): void {
  const stats = lstatSync(path);
  if (stats.isDirectory()) {
    chmodSync(path, 0o700);
    for (const name of readdirSync(path)) closeToOthers(join(path, name));
  } else if (stats.isFile()) chmodSync(path, 0o600);
}
