// Checks the conditions of event handlers: JavaScript expressions that the engine evaluates with the event as `$`.

import { Script, createContext } from 'node:vm';

/** Events for which a condition must not throw: the engine would redeliver such an event forever. */
const minimalEvents = ['{}', '{"inbound":null,"outbound":null}'];

/** Wall-clock limit for endless loops. On an overloaded machine, 200 ms may pass before the first statement. */
const deadlineMs = 2_000;

/** Returns the problem of a condition; undefined when there is none. The condition runs without access to Node's globals. */
export function problemOfCondition(condition: string): string | undefined {
  try {
    new Script(`"use strict"; (${condition}\n)`);
  } catch (error) {
    return `is not a JavaScript expression: ${(error as Error).message}`;
  }
  for (const event of minimalEvents) {
    try {
      evaluate(condition, event);
    } catch (error) {
      return `throws for the event ${event} (${(error as Error).message}), and such an event would be redelivered forever; use optional chaining, such as $.a?.b`;
    }
  }
  return undefined;
}

function evaluate(condition: string, event: string): void {
  const context = createContext(Object.create(null) as object, { codeGeneration: { strings: false, wasm: false } });
  const script = new Script(`"use strict"; const $ = JSON.parse(${JSON.stringify(event)}); (${condition}\n)`);
  script.runInContext(context, { timeout: deadlineMs });
}
