// Puts a folder under git.

import { execFileSync } from 'node:child_process';

/** Commits every file of a folder to a git repository in it, which is created when there is none. */
export function commitAll(dir: string): void {
  const git = (...args: string[]) => execFileSync('git', ['-C', dir, ...args], { stdio: 'pipe' });
  git('init');
  git('add', '.');
  git('-c', 'user.name=test', '-c', 'user.email=test@example.org', 'commit', '--message', 'a gateway');
}
