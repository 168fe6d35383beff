// Runs the CLI as a function of its arguments and its host process.

import { CommanderError } from 'commander';
import { commandsOf } from './command-tree.ts';
import { hasColours } from './output/colours.ts';
import type { Host, Output } from './host.ts';
import { createProgram } from './program.ts';
import { DefinedCommand } from './command-definition.ts';

/**
 * Runs one command line. Ends the process only for `start` and after a second Ctrl-C.
 * @param args the arguments after the name of the program
 * @returns the exit code: 0 for success, 1 for an error, 2 with a meaning that the command defines
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
    if (command instanceof DefinedCommand) {
      command.action(async () => {
        exitCode = await command.execute(host);
      });
    }
  }
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has already written the help or the usage error.
    if (error instanceof CommanderError) return error.exitCode;
    throw error;
  }
}

/** Returns the number of columns of the terminal; 80 when the output is not a terminal. */
function widthOf({ isTTY, columns }: Output): number {
  return isTTY === true && columns !== undefined ? columns : 80;
}
