// How to undo what a command has written.

import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/**
 * Returns a shell command for a gateway under git, otherwise a line that says what to remove.
 * @param dir the folder of the gateway; `changed` and `created` are paths below it
 */
export function undoLine(
  dir: string,
  { changed, created = [] }: { changed: readonly string[]; created?: readonly string[] },
): string {
  if (!isUnderGit(resolve(dir))) {
    const rest = created.length === 0 ? '' : `, and delete ${created.join(', ')}`;
    return `Undo: remove what was added to ${changed.join(', ')}${rest}`;
  }
  const folder = relative('.', dir);
  const git = folder === '' ? 'git' : `git -C ${quote(folder)}`;
  const remove = created.map((file) => quote(relative('.', join(resolve(dir), file))));
  return `Undo: ${git} checkout ${changed.map(quote).join(' ')}${remove.length === 0 ? '' : ` && rm ${remove.join(' ')}`}`;
}

function isUnderGit(dir: string): boolean {
  return existsSync(join(dir, '.git')) || (dir !== dirname(dir) && isUnderGit(dirname(dir)));
}

function quote(path: string): string {
  return /^[\w./@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
