// Installs the npm packages of the compared systems in a separate folder, because the product does not use them.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { rootDir } from '../programs/program.ts';
import type { Run } from '../run.ts';

export const folder = join(rootDir, 'bench/peers');

/** Installs the packages unless they are already installed. @throws Error when npm fails */
export function installPackages({ step }: Pick<Run, 'step'>): void {
  if (isInstalled()) return;
  step('installing Restate, DBOS and BullMQ in bench/peers/ (260 MB)');
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, stderr, error } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm ci in bench/peers failed: ${error?.message ?? stderr}`);
}

/**
 * Returns true when node_modules is up to date. npm writes node_modules/.package-lock.json last. This file is therefore
 * older than package-lock.json only if package-lock.json has changed since the installation.
 */
function isInstalled(): boolean {
  const written = join(folder, 'node_modules/.package-lock.json');
  return existsSync(written) && statSync(written).mtimeMs >= statSync(join(folder, 'package-lock.json')).mtimeMs;
}

/** Returns the version of a package in bench/peers/package.json. */
export function versionOf(name: string): string {
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  return dependencies[name] ?? 'unknown';
}
