// Puts a folder under version control.

import { execFileSync } from 'node:child_process';

/** Commits every file of a folder to the git repository in it, and creates the repository if there is none. */
export function commitAll(dir: string): void {
  const git = (...args: string[]) => execFileSync('git', ['-C', dir, ...args], { stdio: 'pipe' });
  git('init');
  git('add', '.');
  git('-c', 'user.name=test', '-c', 'user.email=test@example.org', 'commit', '--message', 'a gateway');
}
