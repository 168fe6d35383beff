// The `${…}` expressions inside definitions: where they stand and what they name.

import type { Path } from './json-text.ts';

/** One `${…}` and the place of the text it stands in. */
export interface Expression {
  readonly path: Path;
  /** Between the braces: `workflow.input.inbound`. */
  readonly text: string;
  /** The dotted steps: `['workflow', 'input', 'inbound']`. */
  readonly steps: readonly string[];
}

/** Every expression in a value made of texts, arrays and objects. */
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

/** A pattern for what a text with expressions can become; each expression stands for one or more characters but `:`. */
export function patternOf(text: string): RegExp {
  const parts = text.split(/\$\{[^}]*\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('([^:]+)')}$`);
}

function stepsOf(text: string): string[] {
  return text
    .replace(/\[\s*['"]?([^\]'"]*)['"]?\s*\]/g, '.$1')
    .split('.')
    .map((step) => step.trim());
}
