// One shape for every verb: its options, `--json`, its help, and the way its outcome leaves the process.

import { Command } from 'commander';
import { type Outcome, toFailure } from './outcome.ts';

/** A verb of the CLI. */
export interface Verb<Options> {
  readonly name: string;
  readonly description: string;
  /** What each exit code means here. */
  readonly exitCodes: Readonly<Record<'0' | '1', string> & Partial<Record<'2', string>>>;
  /** Adds the verb's own options, with unit and default in their descriptions. */
  readonly addOptions: (command: Command) => Command;
  readonly run: (options: Options) => Promise<Outcome>;
}

/** The verb as a command of the argument parser. The exit code is set, never forced: stdout is always written whole. */
export function toCommand<Options>({ name, description, exitCodes, addOptions, run }: Verb<Options>): Command {
  const codes = Object.entries(exitCodes).map(([code, meaning]) => `  ${code}  ${meaning}`);
  return addOptions(new Command(name).description(description))
    .option('--json', 'print one JSON document instead of text')
    .addHelpText('after', `\nExit codes:\n${codes.join('\n')}`)
    .action(async (options: Options & { json?: boolean }) => {
      const outcome = await run(options).catch(toFailure);
      print(outcome, options.json === true);
      process.exitCode = outcome.exitCode;
    });
}

function print({ exitCode, lines, json }: Outcome, asJson: boolean): void {
  if (asJson) process.stdout.write(`${JSON.stringify(json, null, 2)}\n`);
  else if (lines.length > 0) (exitCode === 1 ? process.stderr : process.stdout).write(`${lines.join('\n')}\n`);
}
