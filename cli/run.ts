// The CLI as a function: arguments and the process around it in, an exit code out.

import { CommanderError } from 'commander';
import { commandsOf } from './command-tree.ts';
import { hasColours } from './colours.ts';
import type { Host, Output } from './host.ts';
import { createProgram } from './program.ts';
import { NestedCommand } from './command-definition.ts';

/**
 * Runs one command line.
 * @param args what follows the name of the program
 * @returns the exit code: 0, 1 for an error, 2 as the verb says. The host is left as it was; nothing ends it.
 */
export async function run(args: readonly string[], host: Host): Promise<number> {
  const program = createProgram();
  let exitCode = 0;
  for (const { command } of commandsOf(program)) {
    command.exitOverride().configureOutput({
      writeOut: (text) => void host.stdout.write(text),
      writeErr: (text) => void host.stderr.write(text),
      getOutHasColors: () => hasColours(host.stdout, host.env),
      getErrHasColors: () => hasColours(host.stderr, host.env),
      getOutHelpWidth: () => widthOf(host.stdout),
      getErrHelpWidth: () => widthOf(host.stderr),
    });
    if (command instanceof NestedCommand) {
      command.action(async () => {
        exitCode = await command.execute(host);
      });
    }
  }
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    // Help, or arguments that are none: it has been written already.
    if (error instanceof CommanderError) return error.exitCode;
    throw error;
  }
}

/** Columns of a terminal; 80 where there is none. */
function widthOf({ isTTY, columns }: Output): number {
  return isTTY === true && columns !== undefined ? columns : 80;
}
