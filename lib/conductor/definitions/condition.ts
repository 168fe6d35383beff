// Conditions of event handlers: JavaScript expressions that are evaluated with the event as `$`, as in the engine.

import { type Context, Script, createContext, runInContext } from 'node:vm';

/** Events for which a condition must not throw: the engine would redeliver such an event forever. */
const minimalEvents = ['{}', '{"inbound":null,"outbound":null}'];

/** Wall-clock limit for endless loops. On an overloaded machine, 200 ms may pass before the first statement. */
const deadlineMs = 2_000;

/** A condition, which runs without access to Node's globals. */
export class Condition {
  readonly #text: string;
  #script: Script | undefined;
  /** Created at the first evaluation and reused, because creation takes milliseconds. */
  #sandbox: Sandbox | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** Compiles the condition once. @throws SyntaxError when it is not a JavaScript expression */
  compile(): Script {
    return (this.#script ??= new Script(`"use strict"; (${this.#text}\n)`));
  }

  /**
   * Returns whether the engine runs the actions of the handler for an event. A condition that cannot be
   * evaluated here, where Java methods are missing, counts as true: MDM recognizes a repeated notification.
   */
  isTrueFor(payload: unknown): boolean {
    try {
      return isTrue(this.evaluate(JSON.stringify(payload, expandText)));
    } catch {
      return true;
    }
  }

  /** Returns the value of the expression. @param event JSON @throws anything that the condition throws */
  evaluate(event: string): unknown {
    const script = this.compile();
    const { context, parse } = (this.#sandbox ??= createSandbox());
    context['$'] = parse(event);
    try {
      return script.runInContext(context, { timeout: deadlineMs });
    } finally {
      // A payload contains a person's data.
      delete context['$'];
    }
  }
}

/** Returns the problem of a condition; undefined when there is none. */
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
  /** `JSON.parse` of the sandbox: no object of Node's own realm gets in. */
  readonly parse: (text: string) => unknown;
}

function createSandbox(): Sandbox {
  const context = createContext(Object.create(null) as object, { codeGeneration: { strings: false, wasm: false } });
  return { context, parse: runInContext('JSON.parse', context) as Sandbox['parse'] };
}

/** Conductor's rule (`ScriptEvaluator.toBoolean`): texts and objects are false. */
function isTrue(value: unknown): boolean {
  return value === true || (typeof value === 'number' && value > 0);
}

/** Conductor parses the JSON texts in a payload before it evaluates the condition (`JsonUtils.expand`). */
function expandText(_key: string, value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
