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
  return findStrings(value, path).flatMap(({ path: place, text: string }) =>
    [...string.matchAll(/(?<!\$)\$\{([^${}]*)\}/g)].map(([, text = '']) => ({
      path: place,
      text,
      steps: stepsOf(text),
    })),
  );
}

/** A problem with a string in a JSON value, with the path of the string. */
export type StringProblem = readonly [path: Path, message: string];

/**
 * Returns a problem for each string that ends in an expression without its closing brace, which the engine takes
 * literally. Only names, dots and indexes count as an expression: scripts may contain other text after `${`.
 */
export function findUnclosedExpressions(value: unknown, path: Path = []): StringProblem[] {
  return findStrings(value, path).flatMap(({ path: place, text }) => {
    const unclosed = /(?<!\$)\$\{[\w.[\]-]+$/.exec(text)?.[0];
    return unclosed === undefined ? [] : [[place, `${unclosed}: "}" is missing at the end of the expression`] as const];
  });
}

function findStrings(value: unknown, path: Path): { readonly path: Path; readonly text: string }[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (value === null || typeof value !== 'object') return [];
  if (Array.isArray(value)) return value.flatMap((item, index) => findStrings(item, [...path, index]));
  return Object.entries(value).flatMap(([key, item]) => findStrings(item, [...path, key]));
}

/**
 * Returns a pattern that matches a string whose expressions are resolved. Each expression matches one or more
 * characters other than `:`.
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
