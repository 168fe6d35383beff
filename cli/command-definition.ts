// One shape for every verb: its options, `--json`, its help, and the way its outcome leaves the process.

import { Command } from 'commander';
import { fitStream } from './colours.ts';
import { confirm, type Terminal, whyUnanswered } from './confirmation.ts';
import type { Host } from './host.ts';
import { type ExitCode, type Outcome, toFailure } from './outcome.ts';

/** The name of the program in help, usage and errors. */
export const programName = 'service-router';

/** A verb of the CLI. */
export interface CommandDefinition<Options> {
  readonly name: string;
  readonly description: string;
  /** What each exit code means here. */
  readonly exitCodes: Readonly<Record<'0' | '1', string> & Partial<Record<'2', string>>>;
  /** Shown by `--help`, the plainest first. */
  readonly examples: readonly Example[];
  /** Adds the verb's own options and arguments, with unit and default in their descriptions. */
  readonly addOptions: (command: Command) => Command;
  readonly run: (options: Options, context: CommandContext) => Promise<Outcome>;
}

export interface Example {
  /** What follows the name of the program: `plan --json`. */
  readonly command: string;
  /** What it is good for, as a sentence without its full stop. */
  readonly does: string;
}

/** What a verb may use while it runs, besides its options. */
export interface CommandContext {
  /** The process it runs in. Results do not go there: they are shown, or in the outcome. */
  readonly host: Host;
  /** The positional arguments, in the order in which `addOptions` declares them. */
  readonly args: readonly string[];
  /** Shows lines at once, on stdout; nothing with `--json`. What comes at the end belongs into the outcome. */
  readonly show: (lines: readonly string[]) => void;
  /** Asks, unless `--yes` was given (`addConfirmationOptions`). @throws VerbError unless the answer is yes */
  readonly confirm: (question: string) => Promise<void>;
  /** Why nothing may be changed in this run: `--dry-run` was given, or nobody can be asked. Undefined when `confirm` decides. */
  readonly onlyShows: string | undefined;
}

/** The verb as a command of the argument parser, which parses and does nothing: whoever has a host gives it its action (`run.ts`). */
export class NestedCommand<Options> extends Command {
  readonly #verb: CommandDefinition<Options>;

  constructor(verb: CommandDefinition<Options>) {
    super(verb.name);
    this.#verb = verb;
    verb
      .addOptions(this.description(verb.description))
      .option('--json', 'print one JSON document instead of text')
      .addHelpText('after', `\n${describeExamples(verb)}\n\n${describeExitCodes(verb)}`);
  }

  /** Runs the verb with the arguments that were parsed, and prints its outcome. */
  async execute(host: Host): Promise<ExitCode> {
    const options = this.opts<Options & { json?: boolean; yes?: boolean; dryRun?: boolean }>();
    const json = options.json === true;
    const confirmation = { yes: options.yes === true, json };
    const terminal = terminalOf(host);
    const context: CommandContext = {
      host,
      args: this.args,
      show: (lines) => void (json || host.stdout.write(fitStream(lines, host.stdout, host.env))),
      confirm: (question) => confirm(question, confirmation, terminal),
      onlyShows: options.dryRun === true ? 'nothing was changed (--dry-run)' : whyUnanswered(confirmation, terminal),
    };
    const outcome = await this.#verb.run(options, context).catch(toFailure);
    print(outcome, json, host);
    return outcome.exitCode;
  }
}

export function toCommand<Options>(verb: CommandDefinition<Options>): Command {
  return new NestedCommand(verb);
}

/** Commands under one word: `executions list`, `executions show`. */
export function toGroup(name: string, description: string, verbs: readonly Command[]): Command {
  return verbs.reduce((group, verb) => group.addCommand(verb), new Command(name).description(description));
}

function describeExamples({ examples }: Pick<CommandDefinition<never>, 'examples'>): string {
  return ['Examples:', ...examples.flatMap(({ command, does }) => [`  # ${does}`, `  ${programName} ${command}`])].join(
    '\n',
  );
}

function describeExitCodes({ exitCodes }: Pick<CommandDefinition<never>, 'exitCodes'>): string {
  return ['Exit codes:', ...Object.entries(exitCodes).map(([code, meaning]) => `  ${code}  ${meaning}`)].join('\n');
}

function terminalOf({ stdin, stderr }: Host): Terminal {
  return { input: stdin, output: stderr };
}

function print({ exitCode, lines, json }: Outcome, asJson: boolean, { stdout, stderr, env }: Host): void {
  if (asJson) stdout.write(`${JSON.stringify(json, null, 2)}\n`);
  else if (lines.length > 0) {
    const stream = exitCode === 1 ? stderr : stdout;
    stream.write(fitStream(lines, stream, env));
  }
}
