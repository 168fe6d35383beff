// Asks an operator before something is changed that is not easily changed back.

import type { Command } from 'commander';
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { VerbError } from './outcome.ts';

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

/** The option of every verb that asks. */
export function addYesOption(command: Command): Command {
  return command.option('-y, --yes', 'do not ask; needed where nobody can answer: without a terminal, and with --json');
}

/**
 * Asks, unless `--yes` was given; resolves when the answer was `y` or `yes`.
 * @throws VerbError for any other answer, for Ctrl-C or Ctrl-D, and where nobody can be asked
 */
export async function confirm(
  question: string,
  { yes, json }: Confirmation,
  { input, output }: Terminal,
): Promise<void> {
  if (yes) return;
  if (json) throw new VerbError(['nothing was changed: --json needs --yes']);
  if (input.isTTY !== true) {
    throw new VerbError([
      'nothing was changed: there is no terminal to ask on; give --yes to go on without being asked',
    ]);
  }
  const lines = createInterface({ input, output });
  const gaveUp = once(lines, 'close').then(() => '');
  const asked = lines.question(`${question} [y/N] `).catch(() => '');
  const answer = await Promise.race([asked, gaveUp]).finally(() => lines.close());
  if (!/^y(es)?$/i.test(answer.trim())) throw new VerbError(['nothing was changed: the answer was not yes']);
}
