// What a verb comes to: an exit code, lines for people, a document for programs.

/** 0: all is well · 1: error · 2: there are differences. */
export type ExitCode = 0 | 1 | 2;

export interface Outcome {
  readonly exitCode: ExitCode;
  /** For people, on stdout; what is wrong goes to stderr when the exit code is 1. */
  readonly lines: readonly string[];
  /** For `--json`. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** An error somebody foresaw: its lines say what to do. */
export class CommandError extends Error {
  override readonly name = 'VerbError';
  readonly lines: readonly string[];
  constructor(lines: readonly string[], options: { cause?: unknown } = {}) {
    super(lines.join('\n'), options);
    this.lines = lines;
  }
}

/** The outcome of a verb that could not do its work. */
export function toFailure(error: unknown): Outcome {
  const lines = linesOf(error);
  return { exitCode: 1, lines, json: { ok: false, problems: lines } };
}

/** ConfigError, DefinitionError and the like carry a list; everything else is one line. */
function linesOf(error: unknown): readonly string[] {
  if (error instanceof CommandError) return error.lines;
  const { problems, message } = error as { problems?: readonly string[]; message?: string };
  return problems ?? [message ?? String(error)];
}
