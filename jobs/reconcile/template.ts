// Resolves `${…}` expressions in definitions as the engine does, limited to the forms that event tasks and handlers
// use.

import { stepsOf } from '#lib/conductor/definitions/expressions.ts';

/** Values that expressions can refer to: `{ workflow: { input: … }, some_task: { output: … } }`. */
export type Scope = Readonly<Record<string, unknown>>;

/**
 * Returns a copy of `template` with every `${a.b.c}` resolved, as in Conductor. An unknown reference becomes null, or
 * an empty string within a longer text.
 */
export function resolveTemplate(template: unknown, scope: Scope): unknown {
  if (typeof template === 'string') return resolveText(template, scope);
  if (Array.isArray(template)) return template.map((item) => resolveTemplate(item, scope));
  if (template === null || typeof template !== 'object') return template;
  return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, resolveTemplate(value, scope)]));
}

/** The value of an expression that is the whole text keeps its type; other expressions become part of the text. */
function resolveText(text: string, scope: Scope): unknown {
  const whole = /^\$\{([^${}]+)\}$/.exec(text)?.[1];
  if (whole !== undefined) return lookUp(whole, scope) ?? null;
  return text.replace(/\$\{([^${}]+)\}/g, (_, path: string) => String(lookUp(path, scope) ?? ''));
}

function lookUp(path: string, scope: Scope): unknown {
  return stepsOf(path).reduce<unknown>(
    (value, step) =>
      value !== null && typeof value === 'object' && Object.hasOwn(value, step)
        ? (value as Record<string, unknown>)[step]
        : undefined,
    scope,
  );
}
