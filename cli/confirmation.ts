// Asks an operator before something is changed that is not easily changed back.

import type { Command } from 'commander';
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { CommandError } from './outcome.ts';

/** Where the question goes and the answer comes from. The question never goes to stdout: that is for results. */
export interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
}

export interface Confirmation {
  /** `--yes` was given. */
  readonly yes: boolean;
  /** `--json` was given: a program reads, and nobody would see what is asked about. */
  readonly json: boolean;
}

/** The options of every command that asks. */
export function addConfirmationOptions(command: Command): Command {
  return command
    .option('-y, --yes', 'do not ask; needed to change anything without a terminal and with --json')
    .option('--dry-run', 'only show what would be done; changes nothing');
}

/** Why nobody can be asked; undefined when the answer is known or somebody can. */
export function whyUnanswered({ yes, json }: Confirmation, { input }: Pick<Terminal, 'input'>): string | undefined {
  if (yes) return undefined;
  if (json) return 'nothing was changed: --json needs --yes';
  if (input.isTTY === true) return undefined;
  return 'nothing was changed: there is no terminal to ask on; give --yes to go on without being asked';
}

/**
 * Asks, unless `--yes` was given; resolves when the answer was `y` or `yes`.
 * @throws VerbError for any other answer, for Ctrl-C or Ctrl-D, and where nobody can be asked
 */
export async function confirm(question: string, confirmation: Confirmation, terminal: Terminal): Promise<void> {
  const reason = whyUnanswered(confirmation, terminal);
  if (reason !== undefined) throw new CommandError([reason]);
  if (confirmation.yes) return;
  const { input, output } = terminal;
  const lines = createInterface({ input, output });
  const gaveUp = once(lines, 'close').then(() => '');
  const asked = lines.question(`${question} [y/N] `).catch(() => '');
  const answer = await Promise.race([asked, gaveUp]).finally(() => lines.close());
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError(['nothing was changed: the answer was not yes']);
}
