// Defines CLI commands and adapts them to commander: options, `--json`, help, and printing the outcome.

import { Command } from 'commander';
import { fitStream } from './output/colours.ts';
import { confirm, type Terminal, reasonNotToAsk } from './confirmation.ts';
import type { Host } from './host.ts';
import { type ExitCode, type Outcome, toFailure } from './outcome.ts';

/** The name of the program in help, usage and errors. */
export const programName = 'service-router';

/** A command of the CLI. `Options` are its parsed options. */
export interface CommandDefinition<Options> {
  readonly name: string;
  readonly description: string;
  /** What each exit code of this command means. */
  readonly exitCodes: Readonly<Record<'0' | '1', string> & Partial<Record<'2', string>>>;
  /** Examples that `--help` shows, the simplest first. */
  readonly examples: readonly Example[];
  /** False for a command without `--json`. */
  readonly hasJson?: false;
  /** Adds the command's own options and arguments; their descriptions state unit and default. */
  readonly addOptions: (command: Command) => Command;
  /** Runs the command. An error that it throws becomes an outcome with exit code 1. */
  readonly run: (options: Options, context: CommandContext) => Promise<Outcome>;
}

/** An example in the help of a command. */
export interface Example {
  /** The arguments after the name of the program: `plan --json`. */
  readonly command: string;
  /** What the example does, as a sentence without its full stop. */
  readonly does: string;
}

/** What a command may use while it runs, besides its options. */
export interface CommandContext {
  /** The process that the command runs in. Commands return results in the outcome or pass them to `show`. */
  readonly host: Host;
  /** The positional arguments, in the order in which `addOptions` declares them. */
  readonly args: readonly string[];
  /** Prints lines to stdout immediately; prints nothing with `--json`. The final result belongs in the outcome. */
  readonly show: (lines: readonly string[]) => void;
  /** Asks for confirmation unless `--yes` was given. @throws CommandError unless the operator answers yes */
  readonly confirm: (question: string) => Promise<void>;
  /**
   * Why this run must not change anything: `--dry-run`, `--json` without `--yes`, or no terminal to ask on. Undefined
   * when `confirm` decides.
   */
  readonly onlyShows: string | undefined;
}

/** A commander command built from a definition. Its action is set in `run.ts`, which knows the host. */
export class DefinedCommand<Options> extends Command {
  readonly #definition: CommandDefinition<Options>;

  constructor(definition: CommandDefinition<Options>) {
    super(definition.name);
    this.#definition = definition;
    definition.addOptions(this.description(definition.description));
    if (definition.hasJson !== false) this.option('--json', 'print one JSON document instead of text');
    this.addHelpText('after', `\n${describeExamples(definition)}\n\n${describeExitCodes(definition)}`);
  }

  /** Runs the command with the parsed arguments, prints its outcome and returns its exit code. */
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
      onlyShows: options.dryRun === true ? 'nothing was changed (--dry-run)' : reasonNotToAsk(confirmation, terminal),
    };
    const outcome = await this.#definition.run(options, context).catch(toFailure);
    print(outcome, json, host);
    return outcome.exitCode;
  }
}

/** Returns the commander command of a definition. */
export function toCommand<Options>(definition: CommandDefinition<Options>): Command {
  return new DefinedCommand(definition);
}

/** Returns a command group such as `executions` with `list` and `show`. */
export function toGroup(name: string, description: string, commands: readonly Command[]): Command {
  return commands.reduce((group, command) => group.addCommand(command), new Command(name).description(description));
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

function print(
  { exitCode, lines, json, stream = exitCode === 1 ? 'stderr' : 'stdout' }: Outcome,
  asJson: boolean,
  host: Host,
): void {
  if (asJson) host.stdout.write(`${JSON.stringify(json, null, 2)}\n`);
  else if (lines.length > 0) host[stream].write(fitStream(lines, host[stream], host.env));
}
