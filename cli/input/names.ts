// Validates names in options.

import { isExecutionId, isQueryName } from '#lib/conductor/executions/names.ts';
import { CommandError } from '../outcome.ts';

/** Returns the text when it is a valid name. @throws CommandError for any other text */
export function parseName(text: string, option: string): string {
  if (isQueryName(text)) return text;
  throw new CommandError([
    `${option}: ${JSON.stringify(text)} is not a valid name: only letters, digits and . : @ / + - _ are allowed (1 to 256 characters)`,
  ]);
}

/** Returns the text when it is a valid execution id, as in `X-Execution-Id`. @throws CommandError for any other text */
export function parseExecutionId(text: string): string {
  if (isExecutionId(text)) return text;
  throw new CommandError([`${JSON.stringify(text)} is not an execution id: use the X-Execution-Id of a response`]);
}
