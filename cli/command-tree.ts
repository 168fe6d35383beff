// Walks a command line: what completion and reference are made from.

import type { Command } from 'commander';

/** A command with the words that lead to it; none for the program itself. */
export interface PlacedCommand {
  readonly command: Command;
  readonly words: readonly string[];
}

/** The program, then its verbs and theirs, in the order of the help. */
export function commandsOf(command: Command, words: readonly string[] = []): PlacedCommand[] {
  return [{ command, words }, ...command.commands.flatMap((sub) => commandsOf(sub, [...words, sub.name()]))];
}
