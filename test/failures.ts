// What a finished run of vitest says failed, read from its JSON report.

import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

export interface Failures {
  /** Test files with a failure, relative to the working directory; none when the run failed outside of its tests. */
  readonly files: readonly string[];
  /** One line for each failed test, or for the set-up of its file. */
  readonly summary: readonly string[];
}

/** @param path a report of vitest's `json` reporter; a run that broke off has left none, and nothing in it failed. */
export function readFailures(path: string): Failures {
  let report: Report;
  try {
    report = JSON.parse(readFileSync(path, 'utf8')) as Report;
  } catch {
    return { files: [], summary: ['the run ended without a report'] };
  }
  const failed = report.testResults.filter((file) => file.status === 'failed');
  return {
    files: failed.map((file) => relative('.', file.name)),
    summary: failed.flatMap((file) => {
      const tests = file.assertionResults.filter((test) => test.status === 'failed').map((test) => test.fullName);
      const what = tests.length > 0 ? tests : [`set-up: ${file.message?.split('\n')[0] ?? 'no message'}`];
      return what.map((test) => `failed: ${relative('.', file.name)}: ${test}`);
    }),
  };
}
