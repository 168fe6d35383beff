// What can be typed at each place of the command line, read from the commander program itself.

import type { Command, Option } from 'commander';
import { commandsOf } from '../command-tree.ts';

/** What a shell may offer at one place. */
export interface Word {
  readonly text: string;
  readonly description: string;
}

/** What follows an option that takes a value. */
export interface OptionValue {
  readonly flags: readonly string[];
  /** A closed set of values, or what the shell itself can list, or nothing that anybody knows. */
  readonly value: { readonly words: readonly string[] } | 'file' | 'directory' | 'unknown';
}

/** One command with everything that can follow it. */
export interface CommandWords {
  /** `/executions/list`; empty for the program itself. */
  readonly path: string;
  /** Words that lead to another command. */
  readonly commands: readonly Word[];
  readonly options: readonly Word[];
  /** Values of the positional arguments that have a closed set of them. */
  readonly values: readonly Word[];
  readonly optionValues: readonly OptionValue[];
}

/** Every place of the command line, the program first. */
export function describeWords(program: Command): CommandWords[] {
  return commandsOf(program).map(({ command, words }) => {
    const help = command.createHelp();
    const options = help.visibleOptions(command);
    return {
      path: words.map((word) => `/${word}`).join(''),
      commands: help
        .visibleCommands(command)
        .map((sub) => ({ text: sub.name(), description: firstSentence(sub.description()) })),
      options: options.flatMap((option) => flagsOf(option).map((text) => ({ text, description: option.description }))),
      values: command.registeredArguments.flatMap(({ argChoices = [], description }) =>
        argChoices.map((text) => ({ text, description })),
      ),
      optionValues: options.filter(takesValue).map((option) => ({ flags: flagsOf(option), value: valueOf(option) })),
    };
  });
}

function flagsOf({ short, long }: Option): string[] {
  return [long, short].filter((flag) => flag !== undefined);
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

/** The word in the brackets says what it is: `--dir <directory>`, `--out <file>`. */
function valueOf({ argChoices, flags }: Option): OptionValue['value'] {
  if (argChoices !== undefined) return { words: argChoices };
  if (/[<[](dir|directory)[>\]]/.test(flags)) return 'directory';
  return /[<[](path|file)[>\]]/.test(flags) ? 'file' : 'unknown';
}

function firstSentence(text: string): string {
  return text.split(/[.;:] /)[0]?.replace(/\.$/, '') ?? text;
}
