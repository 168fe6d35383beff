// The documentation of the CLI, made from the help that it prints itself.

import type { Command } from 'commander';
import { stripVTControlCharacters } from 'node:util';
import { commandsOf } from '../command-tree.ts';

/** Columns of the help in the documentation. */
const width = 100;

/** What a command prints with `--help`, without colours, whatever terminal this runs in. */
export function helpOf(command: Command): string {
  let text = '';
  const writeOut = (part: string) => void (text += part);
  command.configureOutput({ writeOut, getOutHelpWidth: () => width, getOutHasColors: () => false }).outputHelp();
  return stripVTControlCharacters(text).trimEnd();
}

/** The help of the program itself, for the README. */
export function formatOverview(program: Command): string {
  return fence(helpOf(program));
}

/** A section for each verb, in the order of the help, for docs/cli.md. */
export function formatReference(program: Command): string {
  const verbs = commandsOf(program).filter(({ words, command }) => words.length > 0 && command.commands.length === 0);
  return verbs.map(({ words, command }) => `### ${words.join(' ')}\n\n${fence(helpOf(command))}`).join('\n\n');
}

function fence(text: string): string {
  return `\`\`\`\n${text}\n\`\`\``;
}
