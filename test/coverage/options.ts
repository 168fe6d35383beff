// The command line of `npm run coverage`.

import { posix } from 'node:path';
import { parseArgs } from 'node:util';

export interface Options {
  /** Folders whose files are shown, without a trailing slash. */
  readonly folders: readonly string[];
  /** Minimum share of covered lines that each file in these folders must have, in percent. */
  readonly least: number;
  readonly vitestArguments: readonly string[];
  readonly help: boolean;
}

export const usage = `Usage: npm run coverage -- [options] [-- vitest arguments]

  --folder <path>      shows the files of this folder too (may be repeated)
  --least <percent>    fails when a file of these folders has a smaller share of its lines covered
`;

/** Returns true for a file in the folder or in one of its subfolders. */
export const isInside = (file: string, folder: string) => file.startsWith(`${folder}/`);

/**
 * Parses the options. @param files paths of the product's own code
 * @throws Error with a readable message
 */
export function parseOptions(args: readonly string[], files: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      folder: { type: 'string', multiple: true, default: [] },
      least: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const folders = values.folder.map((folder) => posix.normalize(folder).replace(/\/$/, ''));
  for (const folder of folders)
    if (!files.some((file) => isInside(file, folder))) throw new Error(`${folder} has no file of the product`);
  if (values.least !== undefined && folders.length === 0) throw new Error('--least needs --folder');
  return { folders, least: leastOf(values.least), vitestArguments: positionals, help: values.help };
}

function leastOf(given = '0'): number {
  const least = Number(given);
  if (given.trim() === '' || !(least >= 0 && least <= 100))
    throw new Error(`--least is a number from 0 to 100, not ${given}`);
  return least;
}
