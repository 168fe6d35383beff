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

/** Messages that are none, and one that is. */
const badMessages = ['{}', 'null', '"no JSON object"', '[]', '17'];
const goodMessage = { sisPersonId: 'B00417733', cccid: 'ABC1234', updateId: '0f5b3c0e-6f0a-4c55-8f0b-7c1f6f3b2a10' };

/**
 * What is wrong with the condition of a queue of the broker's. It is the other way round there: the engine acknowledges a
 * message that the condition does not let pass, and it is gone; one whose condition throws is refused, and the broker parks it.
 * @param code MIS code of the college whose queue it is
 */
export function problemOfQueueCondition(condition: string, code: string): string | undefined {
  const good = { ...goodMessage, misCode: code };
  const messages = [...badMessages, JSON.stringify({ ...good, misCode: `${code}x` }), JSON.stringify(good)];
  let verdicts: string[];
  try {
    verdicts = judge(condition, messages);
  } catch (error) {
    return `cannot be evaluated: ${(error as Error).message}`;
  }
  const lost = messages.slice(0, -1).find((_, index) => verdicts[index] !== 'throws');
  if (lost !== undefined) return `must throw for the message ${lost}: otherwise it would not be parked, but lost`;
  const verdict = verdicts.at(-1);
  return verdict === 'true' ? undefined : `must be true for ${messages.at(-1)}: ${verdict}`;
}

/** What a condition makes of each message: `throws`, or its value as a text. */
function judge(condition: string, messages: readonly string[]): string[] {
  const each = `(text) => { try { return String((($) => (${condition}\n))(JSON.parse(text))); } catch { return 'throws'; } }`;
  const context = createContext(Object.create(null) as object, { codeGeneration: { strings: false, wasm: false } });
  const script = new Script(`"use strict"; JSON.stringify(${JSON.stringify(messages)}.map(${each}))`);
  return JSON.parse(String(script.runInContext(context, { timeout: deadlineMs }))) as string[];
}

function evaluate(condition: string, event: string): void {
  const context = createContext(Object.create(null) as object, { codeGeneration: { strings: false, wasm: false } });
  const script = new Script(`"use strict"; const $ = JSON.parse(${JSON.stringify(event)}); (${condition}\n)`);
  script.runInContext(context, { timeout: deadlineMs });
}
