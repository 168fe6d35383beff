// The command `init`: writes the folder of a new gateway.

import { existsSync, readdirSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { CommandContext, CommandDefinition } from '../command-definition.ts';
import { fileDependency, findPackageSource } from './init/package-source.ts';
import { writeGateway } from './init/write-gateway.ts';
import { CommandError, type Outcome } from '../outcome.ts';
import { quote } from '../output/quote.ts';
import { countOf } from '../output/table.ts';

/** Options of `init`: the source of this package for the new gateway. */
export interface InitOptions {
  /** The dependency to write to package.json: a version, a URL or the path of a file. */
  readonly package?: string;
}

/** The command `init`: creates a gateway that depends on this package. */
export const init: CommandDefinition<InitOptions> = {
  name: 'init',
  description: 'Create the folder of a new gateway, with configuration, an example route and its test.',
  exitCodes: { 0: 'the folder was written', 1: 'error: the folder is not empty, or its name is not valid' },
  examples: [
    { command: 'init my-gateway', does: 'create a gateway; then run npm install and npm start in my-gateway' },
    { command: 'init my-gateway --package ^1.0.0', does: 'use the package from a registry' },
  ],
  addOptions: (command) =>
    command
      .argument('<folder>', 'folder to write; its name is the name of the gateway')
      .option('--package <version>', 'version, URL or file of the package (default: the one that runs this command)'),
  run: runInit,
};

/**
 * Writes the folder.
 * @throws CommandError, without writing anything, when the folder is not empty, its name is not valid, or the source of
 * this package is not known
 */
export async function runInit(options: InitOptions, { args }: Pick<CommandContext, 'args'>): Promise<Outcome> {
  const folder = resolve(args[0] ?? '.');
  const name = basename(folder);
  checkName(name);
  checkEmpty(folder);
  const dependency = options.package === undefined ? findPackageSource(folder) : toDependency(options.package, folder);
  const files = writeGateway(folder, name, dependency);
  return {
    exitCode: 0,
    lines: [
      `${folder}: ${countOf(files.length, 'file')}, with service-router ${dependency}`,
      '',
      `  cd ${quote(args[0] ?? '.')}`,
      '  npm install',
      '  npm start',
    ],
    json: { ok: true, folder, name, dependency, files },
  };
}

/** @throws CommandError when npm does not accept the name as a package name */
function checkName(name: string): void {
  if (!/^[a-z0-9][a-z0-9._-]{0,99}$/.test(name))
    throw new CommandError([
      `${name}: the folder name may contain only lower-case letters, digits, hyphens, dots and underscores; it must begin with a letter or a digit and may have at most 100 characters`,
    ]);
  // npm does not install a package into a package of the same name.
  if (['service-router', 'node_modules'].includes(name))
    throw new CommandError([`${name}: this name is reserved; choose another name for the folder`]);
}

function checkEmpty(folder: string): void {
  const isThere = existsSync(folder) && readdirSync(folder).some((name) => name !== '.git');
  if (isThere) throw new CommandError([`${folder} is not empty: name a folder that is empty or does not exist yet`]);
}

function toDependency(given: string, folder: string): string {
  return existsSync(given) ? fileDependency(folder, given) : given;
}
