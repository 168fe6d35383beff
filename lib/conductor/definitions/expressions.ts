// Finds and parses the `${…}` expressions in definitions.

import type { Path } from './json-text.ts';

/** One `${…}` expression, with the path of the string that contains it. */
export interface Expression {
  readonly path: Path;
  /** Text between the braces, such as `workflow.input.inbound`. */
  readonly text: string;
  /** The steps between the dots, such as `['workflow', 'input', 'inbound']`. */
  readonly steps: readonly string[];
}

/** Returns all expressions in a JSON value. @param path path of the value */
export function findExpressions(value: unknown, path: Path = []): Expression[] {
  if (typeof value === 'string') {
    return [...value.matchAll(/(?<!\$)\$\{([^${}]*)\}/g)].map(([, text = '']) => ({
      path,
      text,
      steps: stepsOf(text),
    }));
  }
  if (value === null || typeof value !== 'object') return [];
  if (Array.isArray(value)) return value.flatMap((item, index) => findExpressions(item, [...path, index]));
  return Object.entries(value).flatMap(([key, item]) => findExpressions(item, [...path, key]));
}

/**
 * Returns a pattern that matches a string whose expressions are resolved. Each expression matches one or more characters
 * other than `:`.
 */
export function resolvedPattern(text: string): RegExp {
  const parts = text.split(/\$\{[^}]*\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('([^:]+)')}$`);
}

/** Returns the steps of the text between the braces; `a['b']` is the same as `a.b`. */
export function stepsOf(text: string): string[] {
  return text
    .replace(/\[\s*['"]?([^\]'"]*)['"]?\s*\]/g, '.$1')
    .split('.')
    .map((step) => step.trim());
}
