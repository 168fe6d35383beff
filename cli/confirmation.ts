// Asks the operator to confirm a change.

import type { Command } from 'commander';
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { CommandError } from './outcome.ts';

/** The streams for question and answer. The question goes to stderr, since stdout is for results. */
export interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
}

/** The options that decide whether the operator is asked. */
export interface Confirmation {
  /** `--yes` was given. */
  readonly yes: boolean;
  /** `--json` was given: a program reads the output, so no operator would see what the question is about. */
  readonly json: boolean;
}

/** Adds `--yes` and `--dry-run` to a command that asks for confirmation. */
export function addConfirmationOptions(command: Command): Command {
  return command
    .option('-y, --yes', 'do not ask; required to change anything without a terminal or with --json')
    .option('--dry-run', 'only show what would be done; change nothing');
}

/** Returns the reason why the operator cannot be asked; undefined with `--yes`, or on a terminal without `--json`. */
export function reasonNotToAsk({ yes, json }: Confirmation, { input }: Pick<Terminal, 'input'>): string | undefined {
  if (yes) return undefined;
  if (json) return 'nothing was changed: --json needs --yes';
  if (input.isTTY === true) return undefined;
  return 'nothing was changed: confirmation needs a terminal; use --yes to continue without it';
}

/**
 * Asks the operator unless `--yes` was given. Resolves when the answer is `y` or `yes`.
 * @throws CommandError for any other answer, for Ctrl-C or Ctrl-D, and when the operator cannot be asked
 */
export async function confirm(question: string, confirmation: Confirmation, terminal: Terminal): Promise<void> {
  const reason = reasonNotToAsk(confirmation, terminal);
  if (reason !== undefined) throw new CommandError([reason]);
  if (confirmation.yes) return;
  const { input, output } = terminal;
  const lines = createInterface({ input, output });
  const closed = once(lines, 'close').then(() => '');
  const answered = lines.question(`${question} [y/N] `).catch(() => '');
  const answer = await Promise.race([answered, closed]).finally(() => lines.close());
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError(['nothing was changed: the answer was not yes']);
}
