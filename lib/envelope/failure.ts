// Formats and parses a worker's failure: `<problem code>: <text>` in `reasonForIncompletion`.

import type { ProblemCode } from '#lib/problem/catalogue.ts';

/** Problem codes that a worker may report. Any other failure of a workflow is `execution-failed`. */
export const failureCodes = [
  'back-end-unreachable',
  'back-end-timeout',
  'back-end-bad-answer',
  'unknown-college',
  'payload-unreadable',
] as const satisfies readonly ProblemCode[];

/** One of {@link failureCodes}. */
export type FailureCode = (typeof failureCodes)[number];

/**
 * Returns a `reasonForIncompletion` to report to the engine. `text` must not contain addresses or personal data,
 * because clients may see it.
 */
export function formatFailure(code: FailureCode, text: string): string {
  return `${code}: ${text}`;
}

/** Matches a failure anywhere in a string, because the engine may quote the reason in its own message. */
const failurePattern = new RegExp(`(${failureCodes.join('|')}): (.*?)'?$`, 's');

/** Parses a reason, even if it is quoted in a message of the engine; returns null when there is no failure code. */
export function parseFailure(reason: string | undefined): { code: FailureCode; text: string } | null {
  const match = failurePattern.exec(reason ?? '');
  return match === null ? null : { code: match[1] as FailureCode, text: match[2] as string };
}
