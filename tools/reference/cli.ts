// Generates the CLI reference from the CLI's own help.

import type { Command } from 'commander';
import { stripVTControlCharacters } from 'node:util';
import { commandsOf } from '../../cli/command-tree.ts';
import { fence } from './markdown.ts';

/** Width of the help in the documentation, in columns. */
const width = 100;

/** Returns the output of `--help` without colours, independent of the terminal. */
export function helpOf(command: Command): string {
  let text = '';
  const writeOut = (part: string) => void (text += part);
  command.configureOutput({ writeOut, getOutHelpWidth: () => width, getOutHasColors: () => false }).outputHelp();
  return stripVTControlCharacters(text).trimEnd();
}

/** Returns a section for each command, in the order of the help. */
export function formatCommands(program: Command): string {
  const leafCommands = commandsOf(program).filter(
    ({ words, command }) => words.length > 0 && command.commands.length === 0,
  );
  return leafCommands
    .map(({ words, command }) => `### ${words.join(' ')}\n\n${fence('text', helpOf(command))}`)
    .join('\n\n');
}
