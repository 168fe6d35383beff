// The result of a test run as data: vitest's reporter writes it, and the runner reads it.

/** Tests of one file that did not run, all for the same reason. */
export interface NotRun {
  readonly reason: string;
  readonly tests: number;
}

export interface FileRecord {
  /** Path relative to the repository. */
  readonly file: string;
  readonly seconds: number;
  readonly passed: number;
  /** Titles of failed tests; `set-up: <message>` for a file or a group whose set-up failed. */
  readonly failed: readonly string[];
  readonly notRun: readonly NotRun[];
}

export interface RunRecord {
  readonly files: readonly FileRecord[];
  /** Errors outside of any test: from a global set-up, or thrown by something that no test waits for. */
  readonly errors: readonly string[];
}

const slowestCount = 10;

/** Returns the lines of the table that ends a run: passed, failed, not run and why, and the ten slowest files. */
export function toTable({ files, errors }: RunRecord): string[] {
  const failed = [
    ...files.flatMap(({ file, failed }) => failed.map((title) => `${file}: ${title}`)),
    ...errors.map((message) => `outside of a test: ${message}`),
  ];
  const notRun = files.flatMap(({ file, notRun }) =>
    notRun.map(({ reason, tests }) => ({ tests, line: `${file}: ${reason}` })),
  );
  const slowest = files.toSorted((one, other) => other.seconds - one.seconds).slice(0, slowestCount);
  return [
    `passed   ${sumOf(files.map(({ passed }) => passed))} in ${files.length} files`,
    `failed   ${failed.length}`,
    ...failed.map((line) => `  ${line}`),
    `not run  ${sumOf(notRun.map(({ tests }) => tests))}`,
    ...notRun.map(({ tests, line }) => `  ${String(tests).padStart(3)}  ${line}`),
    `slowest files`,
    ...slowest.map(({ file, seconds }) => `  ${seconds.toFixed(1).padStart(5)} s  ${file}`),
  ];
}

/** Merges several records into one. */
export function joinRecords(records: readonly RunRecord[]): RunRecord {
  return { files: records.flatMap(({ files }) => files), errors: records.flatMap(({ errors }) => errors) };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
