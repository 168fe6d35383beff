// Names that go into a query of the engine, which knows no quoting: only what cannot be taken for something else.

import { CommandError } from '../outcome.ts';

const plain = /^[\w.:@/+-]{1,256}$/;
const executionId = /^[\w-]{8,64}$/;

/** @throws VerbError */
export function parseName(text: string, option: string): string {
  if (plain.test(text)) return text;
  throw new CommandError([`${option}: ${JSON.stringify(text)} is not a name`]);
}

/** An execution id, as in `X-Execution-Id`. @throws VerbError */
export function parseExecutionId(text: string): string {
  if (executionId.test(text)) return text;
  throw new CommandError([`${JSON.stringify(text)} is not an execution id: it is the X-Execution-Id of an answer`]);
}
