// One shape for every verb: its options, `--json`, its help, and the way its outcome leaves the process.

import { Command } from 'commander';
import { fitStream } from './colours.ts';
import { confirm } from './confirmation.ts';
import { type Outcome, toFailure } from './outcome.ts';

/** A verb of the CLI. */
export interface Verb<Options> {
  readonly name: string;
  readonly description: string;
  /** What each exit code means here. */
  readonly exitCodes: Readonly<Record<'0' | '1', string> & Partial<Record<'2', string>>>;
  /** Shown by `--help`, the plainest first. */
  readonly examples: readonly Example[];
  /** Adds the verb's own options and arguments, with unit and default in their descriptions. */
  readonly addOptions: (command: Command) => Command;
  readonly run: (options: Options, context: VerbContext) => Promise<Outcome>;
}

export interface Example {
  /** What comes behind `router`: `plan --json`. */
  readonly command: string;
  /** What it is good for, as a sentence without its full stop. */
  readonly does: string;
}

/** What a verb may use while it runs, besides its options. */
export interface VerbContext {
  /** The positional arguments, in the order in which `addOptions` declares them. */
  readonly args: readonly string[];
  /** Shows lines at once, on stdout; nothing with `--json`. What comes at the end belongs into the outcome. */
  readonly show: (lines: readonly string[]) => void;
  /** Asks, unless `--yes` was given (`addYesOption`). @throws VerbError unless the answer is yes */
  readonly confirm: (question: string) => Promise<void>;
}

/** The verb as a command of the argument parser. The exit code is set, never forced: stdout is always written whole. */
export function toCommand<Options>(verb: Verb<Options>): Command {
  return verb
    .addOptions(new Command(verb.name).description(verb.description))
    .option('--json', 'print one JSON document instead of text')
    .addHelpText('after', `\n${describeExamples(verb)}\n\n${describeExitCodes(verb)}`)
    .action(async (...parsed: unknown[]) => {
      const command = parsed.at(-1) as Command;
      const options = command.opts<Options & { json?: boolean; yes?: boolean }>();
      const json = options.json === true;
      const context: VerbContext = {
        args: command.args,
        show: (lines) => void (json || process.stdout.write(fitStream(lines, process.stdout))),
        confirm: (question) => confirm(question, { yes: options.yes === true, json }),
      };
      const outcome = await verb.run(options, context).catch(toFailure);
      print(outcome, json);
      process.exitCode = outcome.exitCode;
    });
}

/** Verbs under one word: `router executions list`, `router executions show`. */
export function toGroup(name: string, description: string, verbs: readonly Command[]): Command {
  return verbs.reduce((group, verb) => group.addCommand(verb), new Command(name).description(description));
}

function describeExamples({ examples }: Pick<Verb<never>, 'examples'>): string {
  return ['Examples:', ...examples.flatMap(({ command, does }) => [`  # ${does}`, `  router ${command}`])].join('\n');
}

function describeExitCodes({ exitCodes }: Pick<Verb<never>, 'exitCodes'>): string {
  return ['Exit codes:', ...Object.entries(exitCodes).map(([code, meaning]) => `  ${code}  ${meaning}`)].join('\n');
}

function print({ exitCode, lines, json }: Outcome, asJson: boolean): void {
  if (asJson) process.stdout.write(`${JSON.stringify(json, null, 2)}\n`);
  else if (lines.length > 0) {
    const stream = exitCode === 1 ? process.stderr : process.stdout;
    stream.write(fitStream(lines, stream));
  }
}
