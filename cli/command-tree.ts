// Lists the commands of a commander program, for completion and reference.

import type { Command } from 'commander';

/** A command with its path, such as `['executions', 'list']`; the program itself has an empty path. */
export interface CommandPath {
  readonly command: Command;
  readonly words: readonly string[];
}

/** Returns the program and all of its commands and subcommands, in the order of the help. */
export function commandsOf(command: Command, words: readonly string[] = []): CommandPath[] {
  return [{ command, words }, ...command.commands.flatMap((sub) => commandsOf(sub, [...words, sub.name()]))];
}
