// Conditions of event handlers: JavaScript that the engine evaluates with the event as `$`.

import { Script, createContext } from 'node:vm';

/** Events a condition must survive: one that throws would be delivered again and again, for ever. */
const bareEvents = ['{}', '{"inbound":null,"outbound":null}'];

/** For what never ends. It is time on the wall, and a machine at its limits may let 200 ms pass before the first statement. */
const deadlineMs = 2_000;

/** What is wrong with a condition; undefined when nothing is. Nothing but the language itself is within its reach. */
export function problemOfCondition(condition: string): string | undefined {
  try {
    new Script(`"use strict"; (${condition}\n)`);
  } catch (error) {
    return `is not a JavaScript expression: ${(error as Error).message}`;
  }
  for (const event of bareEvents) {
    try {
      evaluate(condition, event);
    } catch (error) {
      return `throws for the event ${event} (${(error as Error).message}), and such an event would be delivered for ever; write $.a?.b`;
    }
  }
  return undefined;
}

function evaluate(condition: string, event: string): void {
  const context = createContext(Object.create(null) as object, { codeGeneration: { strings: false, wasm: false } });
  const script = new Script(`"use strict"; const $ = JSON.parse(${JSON.stringify(event)}); (${condition}\n)`);
  script.runInContext(context, { timeout: deadlineMs });
}
