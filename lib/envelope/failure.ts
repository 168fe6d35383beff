// Why a worker could not bring an answer, as a line the router understands: `<code>: <text>` in reasonForIncompletion.

import type { ProblemCode } from '#lib/problem/catalogue.ts';

/** The problems a worker may name. Everything else a workflow fails with is `execution-failed`. */
export const failureCodes = [
  'back-end-unreachable',
  'back-end-timeout',
  'back-end-bad-answer',
  'unknown-college',
  'payload-unreadable',
] as const satisfies readonly ProblemCode[];

export type FailureCode = (typeof failureCodes)[number];

/** The reason a worker gives the engine. Keep `text` free of addresses and personal values: clients may see it. */
export function formatFailure(code: FailureCode, text: string): string {
  return `${code}: ${text}`;
}

/** The engine may put the reason between apostrophes, behind words of its own. */
const failurePattern = new RegExp(`(${failureCodes.join('|')}): (.*?)'?$`, 's');

/** Reads a reason again, also behind words of the engine; null when a worker did not name one of our codes. */
export function parseFailure(reason: string | undefined): { code: FailureCode; text: string } | null {
  const match = failurePattern.exec(reason ?? '');
  return match === null ? null : { code: match[1] as FailureCode, text: match[2] as string };
}
