// Compiles and evaluates conditions of event handlers: JavaScript expressions with the event as `$`, as in the engine.

import { type Context, Script, createContext, runInContext } from 'node:vm';

/** Events for which a condition must not throw: the engine would redeliver such an event forever. */
const minimalEvents = ['{}', '{"inbound":null,"outbound":null}'];

/**
 * Wall-clock limit on an evaluation, in milliseconds, which stops endless loops. On an overloaded machine, 200 ms may
 * pass before the first statement.
 */
const deadlineMs = 2_000;

/** A condition. It runs without access to Node's globals. */
export class Condition {
  readonly #text: string;
  #script: Script | undefined;
  /** Created at the first evaluation and then reused, because creating it takes milliseconds. */
  #sandbox: Sandbox | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** Compiles the condition once. @throws SyntaxError when it is not a JavaScript expression */
  compile(): Script {
    return (this.#script ??= new Script(`"use strict"; (${this.#text}\n)`));
  }

  /**
   * Returns whether the engine runs the actions of the handler for an event. A condition that cannot be evaluated here,
   * for example because it calls Java methods, counts as true. This is safe, because MDM recognizes a repeated
   * notification.
   */
  isTrueFor(payload: unknown): boolean {
    try {
      return isTrue(this.evaluate(JSON.stringify(payload, expandText)));
    } catch {
      return true;
    }
  }

  /** Returns the value of the expression. @param event event as JSON @throws anything that the condition throws */
  evaluate(event: string): unknown {
    const script = this.compile();
    const { context, parse } = (this.#sandbox ??= createSandbox());
    context['$'] = parse(event);
    try {
      return script.runInContext(context, { timeout: deadlineMs });
    } finally {
      // The payload contains personal data, so it is not kept.
      delete context['$'];
    }
  }
}

/** Returns the problem with a condition; undefined when there is none. */
export function problemOfCondition(text: string): string | undefined {
  const condition = new Condition(text);
  try {
    condition.compile();
  } catch (error) {
    return `is not a JavaScript expression: ${(error as Error).message}`;
  }
  for (const event of minimalEvents) {
    try {
      condition.evaluate(event);
    } catch (error) {
      return `throws for the event ${event} (${(error as Error).message}), and such an event would be redelivered forever; use optional chaining, such as $.a?.b`;
    }
  }
  return undefined;
}

interface Sandbox {
  readonly context: Context;
  /** The sandbox's `JSON.parse`, so that no object from Node's own realm gets into the sandbox. */
  readonly parse: (text: string) => unknown;
}

function createSandbox(): Sandbox {
  const context = createContext(Object.create(null) as object, { codeGeneration: { strings: false, wasm: false } });
  return { context, parse: runInContext('JSON.parse', context) as Sandbox['parse'] };
}

/** Applies Conductor's rule for truth (`ScriptEvaluator.toBoolean`): strings and objects count as false. */
function isTrue(value: unknown): boolean {
  return value === true || (typeof value === 'number' && value > 0);
}

/** Parses the JSON strings in a payload, as Conductor does before it evaluates a condition (`JsonUtils.expand`). */
function expandText(_key: string, value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
