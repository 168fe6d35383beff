// Opens the state directory of a stack: exclusive to one stack, and readable by its owner only.

import { chmodSync, lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from '../setup/lock.mjs';

/** Names of the stack's own files and folders. Other files in the directory are left alone. */
const ownFiles = /^(engine|redis|identity-provider|logs|stack\.json|back-ends\.sqlite.*)$/;

/**
 * Locks the directory and makes it and the files of earlier stacks readable by the owner only. Sets the umask of this
 * process and its children accordingly, since their files hold personal data, keys and requests.
 * @returns a function that releases the lock
 * @throws Error with a readable message when another stack uses the directory or another user owns it
 */
export function openStateDir(stateDir: string): () => void {
  process.umask(0o077);
  mkdirSync(stateDir, { recursive: true });
  const { release, owner } = tryLock(join(stateDir, 'stack.lock'));
  if (release === undefined)
    throw new Error(
      `Another stack (process ${owner}) is using ${stateDir}: stop it, or set STATE_DIR to another folder.`,
    );
  try {
    // A shared directory with the sticky bit, such as /tmp, keeps its mode.
    if ((statSync(stateDir).mode & 0o1000) === 0) chmodSync(stateDir, 0o700);
    for (const name of readdirSync(stateDir)) if (ownFiles.test(name)) closeToOthers(join(stateDir, name));
    return release;
  } catch (error) {
    release();
    const reason = (error as Error).message;
    throw new Error(
      `Other users cannot be kept out of ${stateDir} (${reason}): set STATE_DIR to a folder of your own.`,
      {
        cause: error,
      },
    );
  }
}

/** Sets mode 0700 on directories and 0600 on files, recursively; ignores symbolic links. */
function closeToOthers(path: string): void {
  const stats = lstatSync(path);
  if (stats.isDirectory()) {
    chmodSync(path, 0o700);
    for (const name of readdirSync(path)) closeToOthers(join(path, name));
  } else if (stats.isFile()) chmodSync(path, 0o600);
}
