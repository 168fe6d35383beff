// Validates names in options. The engine's query language has no quoting, so special characters are rejected.

import { CommandError } from '../outcome.ts';

const plain = /^[\w.:@/+-]{1,256}$/;
const executionId = /^[\w-]{8,64}$/;

/** Returns a valid name. @throws CommandError for any other text */
export function parseName(text: string, option: string): string {
  if (plain.test(text)) return text;
  throw new CommandError([`${option}: ${JSON.stringify(text)} is not a name`]);
}

/** Returns a valid execution id, as in `X-Execution-Id`. @throws CommandError for any other text */
export function parseExecutionId(text: string): string {
  if (executionId.test(text)) return text;
  throw new CommandError([`${JSON.stringify(text)} is not an execution id: it is the X-Execution-Id of a response`]);
}
