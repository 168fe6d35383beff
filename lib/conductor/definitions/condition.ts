// Checks the conditions of event handlers: JavaScript expressions that the engine evaluates with the event as `$`.

import { Script, createContext } from 'node:vm';

/** Events for which a condition must not throw: the engine would redeliver such an event forever. */
const minimalEvents = ['{}', '{"inbound":null,"outbound":null}'];

/** Wall-clock limit for endless loops. On an overloaded machine, 200 ms may pass before the first statement. */
const deadlineMs = 2_000;

/** Returns the problem of a condition; undefined when there is none. The condition runs without access to globals. */
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
      return `throws for the event ${event} (${(error as Error).message}), and such an event would be delivered forever; write $.a?.b`;
    }
  }
  return undefined;
}

/** Invalid messages, and a valid one. */
const badMessages = ['{}', 'null', '"no JSON object"', '[]', '17'];
const goodMessage = { sisPersonId: 'B00417733', cccid: 'ABC1234', updateId: '0f5b3c0e-6f0a-4c55-8f0b-7c1f6f3b2a10' };

/**
 * Returns the problem of the condition of a RabbitMQ queue; undefined when there is none. Here the condition must throw for
 * invalid messages: the engine acknowledges a message whose condition is false, so the message is lost. When the condition
 * throws, the engine rejects the message, and the broker dead-letters it.
 * @param code MIS code of the queue's college
 */
export function problemOfQueueCondition(condition: string, code: string): string | undefined {
  const good = { ...goodMessage, misCode: code };
  const messages = [...badMessages, JSON.stringify({ ...good, misCode: `${code}x` }), JSON.stringify(good)];
  let verdicts: string[];
  try {
    verdicts = evaluateEach(condition, messages);
  } catch (error) {
    return `cannot be evaluated: ${(error as Error).message}`;
  }
  const lost = messages.slice(0, -1).find((_, index) => verdicts[index] !== 'throws');
  if (lost !== undefined)
    return `must throw for the message ${lost}: otherwise it would be lost instead of dead-lettered`;
  const verdict = verdicts.at(-1);
  return verdict === 'true' ? undefined : `must be true for ${messages.at(-1)}: ${verdict}`;
}

/** Evaluates a condition for each message: `throws`, or its value as text. */
function evaluateEach(condition: string, messages: readonly string[]): string[] {
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
