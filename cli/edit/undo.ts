// Tells the operator how to undo the changes that a command has made to files.

import { spawnSync } from 'node:child_process';
import { join, relative, resolve } from 'node:path';
import { listWords } from '../output/list-words.ts';
import { quote } from '../output/quote.ts';

/** Files that a command has written, as paths below the folder of the gateway. */
interface Written {
  readonly changed: readonly string[];
  readonly created?: readonly string[];
  /** What {@link areCommitted} returned for the changed files before they were written. */
  readonly wereCommitted: boolean;
}

/**
 * Returns true when the current content of these files is committed to git. Otherwise `git checkout` would also undo
 * earlier changes, or fail.
 * @param files paths below `dir`
 */
export function areCommitted(dir: string, files: readonly string[]): boolean {
  const options = ['status', '--porcelain', '--ignored', '--untracked-files=all'];
  const { status, stdout } = spawnSync('git', ['-C', dir, ...options, '--', ...files], { encoding: 'utf8' });
  return status === 0 && stdout === '';
}

/**
 * Returns a line with a shell command that undoes the change or, if the changed files were not committed, with
 * instructions on what to remove.
 */
export function undoLine(dir: string, { changed, created = [], wereCommitted }: Written): string {
  if (!wereCommitted) {
    const rest = created.length === 0 ? '' : `, and delete ${listWords(created)}`;
    return `Undo: remove what was added to ${listWords(changed)}${rest}`;
  }
  const folder = relative('.', dir);
  const git = folder === '' ? 'git' : `git -C ${quote(folder)}`;
  const remove = created.map((file) => quote(relative('.', join(resolve(dir), file))));
  return `Undo: ${git} checkout ${changed.map(quote).join(' ')}${remove.length === 0 ? '' : ` && rm ${remove.join(' ')}`}`;
}
