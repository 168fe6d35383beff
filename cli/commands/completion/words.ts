// Lists the completion words of every command, read from the commander program.

import type { Command, Option } from 'commander';
import { commandsOf } from '../../command-tree.ts';

/** One completion word. */
export interface Word {
  readonly text: string;
  readonly description: string;
}

/** The completion of an option's value. */
export interface OptionValue {
  readonly flags: readonly string[];
  /** A closed set of values, a kind of path that the shell completes, or `unknown`. */
  readonly value: { readonly words: readonly string[] } | 'file' | 'directory' | 'unknown';
}

/** The completion words of one command. */
export interface CommandWords {
  /** Path such as `/executions/list`; empty for the program itself. */
  readonly path: string;
  /** Subcommands. */
  readonly commands: readonly Word[];
  readonly options: readonly Word[];
  /** Values of positional arguments with a closed set of values. */
  readonly values: readonly Word[];
  readonly optionValues: readonly OptionValue[];
}

/** Returns the completion words of the program and of every command. */
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

/** Derives the kind of value from the placeholder: `--dir <directory>`, `--out <file>`. */
function valueOf({ argChoices, flags }: Option): OptionValue['value'] {
  if (argChoices !== undefined) return { words: argChoices };
  if (/[<[](dir|directory)[>\]]/.test(flags)) return 'directory';
  return /[<[](path|file)[>\]]/.test(flags) ? 'file' : 'unknown';
}

function firstSentence(text: string): string {
  return text.split(/[.;:] /)[0]?.replace(/\.$/, '') ?? text;
}
