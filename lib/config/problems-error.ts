// An error that lists several problems.

/** Problems that an operator can solve, one line each. Logs show the lines instead of a stack. */
export class ProblemsError extends Error {
  override readonly name: string = 'ProblemsError';
  readonly problems: readonly string[];

  /** @param heading first line of the message, such as `the configuration is not valid`; none when absent */
  constructor(problems: readonly string[], heading?: string) {
    super(
      heading === undefined
        ? problems.join('\n')
        : [`${heading}:`, ...problems.map((line) => `  - ${line}`)].join('\n'),
    );
    this.problems = problems;
  }
}
