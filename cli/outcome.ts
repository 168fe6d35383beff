// The outcome of a command: exit code, text lines and JSON document.

/** 0: success · 1: error · 2: differences or findings remain. */
export type ExitCode = 0 | 1 | 2;

/** The result of a command. */
export interface Outcome {
  readonly exitCode: ExitCode;
  /** Text output. */
  readonly lines: readonly string[];
  /** Where the lines are printed; default: stderr when the exit code is 1, otherwise stdout. */
  readonly stream?: 'stdout' | 'stderr';
  /** The document that `--json` prints. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** An expected error. Its lines tell the operator what to do. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly lines: readonly string[];
  constructor(lines: readonly string[], options: { cause?: unknown } = {}) {
    super(lines.join('\n'), options);
    this.lines = lines;
  }
}

/** Returns the outcome of a command that threw `error`: exit code 1 with the lines of the error. */
export function toFailure(error: unknown): Outcome {
  const lines = linesOf(error);
  return { exitCode: 1, lines, json: { ok: false, problems: lines } };
}

/** Returns the lines of an error. ConfigError and DefinitionError, for example, have a list of problems. */
export function linesOf(error: unknown): readonly string[] {
  if (error instanceof CommandError) return error.lines;
  const { problems, message } = error as { problems?: readonly string[]; message?: string };
  return problems ?? [message ?? String(error)];
}
