// The state directory of a stack: only its owner may read it, and only one stack may use it.

import { chmodSync, lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from '../setup/lock.mjs';

/** What a stack keeps there: folders, and files beside them. Whatever else is there is somebody else's. */
const ownFiles = /^(engine|identity-provider|logs|stack\.json|back-ends\.sqlite.*)$/;

/**
 * Takes the lock of the directory, and makes it and what an earlier stack has left there readable by its owner only.
 * From now on this process and its children write such files only: they hold personal data, keys and requests.
 * @returns releases the lock
 * @throws Error for people, when another stack runs there or the directory belongs to somebody else
 */
export function openStateDir(stateDir: string): () => void {
  process.umask(0o077);
  mkdirSync(stateDir, { recursive: true });
  const { release, owner } = tryLock(join(stateDir, 'stack.lock'));
  if (release === undefined)
    throw new Error(
      `Another stack (process ${owner}) runs on ${stateDir}: stop it, or set STATE_DIR to another folder.`,
    );
  try {
    // A directory that everybody may write to, such as /tmp, stays one.
    if ((statSync(stateDir).mode & 0o1000) === 0) chmodSync(stateDir, 0o700);
    for (const name of readdirSync(stateDir)) if (ownFiles.test(name)) closeToOthers(join(stateDir, name));
    return release;
  } catch (error) {
    release();
    const reason = (error as Error).message;
    throw new Error(`${stateDir} cannot be closed to other users (${reason}): set STATE_DIR to a folder of your own.`, {
      cause: error,
    });
  }
}

/** 0700 for directories, 0600 for files; links are left alone. */
function closeToOthers(path: string): void {
  const stats = lstatSync(path);
  if (stats.isDirectory()) {
    chmodSync(path, 0o700);
    for (const name of readdirSync(path)) closeToOthers(join(path, name));
  } else if (stats.isFile()) chmodSync(path, 0o600);
}
