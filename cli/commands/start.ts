// The command `start`: runs the whole stack of a gateway on this machine, as `npm start` does.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { moduleExtension, productDir } from '#lib/config/folders.ts';
import { stackVariables } from '#lib/config/stack-variables.ts';
import type { CommandDefinition } from '../command-definition.ts';
import { CommandError } from '../outcome.ts';

/** Flags of `start`, the same as those of `npm start`. */
export interface StartOptions {
  readonly store?: string;
  readonly verbose?: boolean;
}

/**
 * The part of `dev/stack/run-stack.ts` that `start` uses. The module is imported by its path, because the image has no
 * folder `dev`.
 */
interface EmbeddedStack {
  runStack(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number>;
}

/** The command `start`: runs everything that a gateway needs, for development. */
export const start: CommandDefinition<StartOptions> = {
  name: 'start',
  description: 'Run the gateway in this folder with everything it needs, for development, until Ctrl-C.',
  exitCodes: { 0: 'stopped by a signal', 1: 'it could not start, or a program kept crashing' },
  examples: [
    { command: 'start', does: 'start engine, identity provider, router and workers on this machine' },
    { command: 'start --store redis', does: 'use an engine on Redis, which is faster and needs redis-server' },
  ],
  // The command prints what happens until a signal ends it, so there is no final document to print.
  hasJson: false,
  addOptions: (command) =>
    command
      .option('--store <store>', 'where the engine keeps its data: sqlite or redis (default: sqlite)')
      .option('--verbose', "show every program's log lines here as well")
      .addHelpText('after', `\n${stackVariables}`),
  run: async ({ store, verbose }, { host }) => {
    const { runStack } = await importStack();
    const flags = [...(store === undefined ? [] : ['--store', store]), ...(verbose === true ? ['--verbose'] : [])];
    return host.exit(await runStack(flags, host.env));
  },
};

/** Imports the embedded stack, which the image does not contain. @throws CommandError when the stack is missing */
async function importStack(): Promise<EmbeddedStack> {
  const file = join(productDir, `dev/stack/run-stack${moduleExtension}`);
  if (!existsSync(file))
    throw new CommandError(['this image has no embedded stack: start needs the package or a checkout']);
  return (await import(pathToFileURL(file).href)) as EmbeddedStack;
}
