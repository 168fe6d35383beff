// An error that lists several problems.

/** An error with problems that an operator can solve, one line each. Logs show these lines instead of a stack trace. */
export class ProblemsError extends Error {
  override readonly name: string = 'ProblemsError';
  readonly problems: readonly string[];

  /** @param heading first line of the message, such as `the configuration is not valid`; default: no heading */
  constructor(problems: readonly string[], heading?: string) {
    super(
      heading === undefined
        ? problems.join('\n')
        : [`${heading}:`, ...problems.map((line) => `  - ${line}`)].join('\n'),
    );
    this.problems = problems;
  }
}
