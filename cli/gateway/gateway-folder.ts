// Selects the gateway folder that a command acts on: the working directory, or the one that `--dir` names.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { gatewayDir } from '#lib/config/folders.ts';
import { CommandError } from '../outcome.ts';

/** The option that names a gateway's folder. */
export interface FolderOptions {
  readonly dir?: string;
}

/**
 * Absolute path of the gateway's folder: the working directory, or the checkout when the working directory is not a
 * gateway.
 */
export const rootDir = gatewayDir();

/** Adds `--dir`. @param what description of the folder in the help of the command */
export function addDirOption(
  command: Command,
  what = 'folder with the gateway configuration and the definitions',
): Command {
  return command.option('--dir <directory>', `${what} (default: the gateway in this folder)`);
}

/** Returns the absolute path of the folder. @throws CommandError when the folder of `--dir` does not exist */
export function folderOf({ dir }: FolderOptions): string {
  if (dir === undefined) return rootDir;
  if (!existsSync(dir)) throw new CommandError([`--dir: there is no folder ${dir}`]);
  return resolve(dir);
}

/**
 * Returns the folder whose configuration is used. If the given folder contains only definitions (`dump` writes such a
 * folder), the default gateway folder is returned.
 * @throws CommandError when the folder of `--dir` does not exist
 */
export function configFolderOf(options: FolderOptions): string {
  const dir = folderOf(options);
  const isGateway = ['gateway.config.yml', 'config/default.properties'].some((file) => existsSync(join(dir, file)));
  return isGateway ? dir : rootDir;
}
