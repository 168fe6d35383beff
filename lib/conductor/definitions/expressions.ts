// Finds and parses the `${…}` expressions in definitions.

import type { Path } from './json-text.ts';

/** One `${…}` and the path of its text. */
export interface Expression {
  readonly path: Path;
  /** Text between the braces: `workflow.input.inbound`. */
  readonly text: string;
  /** The dotted steps: `['workflow', 'input', 'inbound']`. */
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

/** Returns a pattern for a text with resolved expressions. Each expression matches one or more characters except `:`. */
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
