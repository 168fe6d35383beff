// Parses hand-written JSON files: reports the positions of syntax errors and duplicate keys, and locates values.

import { stepsOfPointer } from '#lib/json/json-pointer.ts';
import { LineCounter, isNode, parseDocument } from 'yaml';

/** The path of a value: keys and indexes from the root. */
export type Path = readonly (string | number)[];

/** A position in a string; line and column start at 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A parsed text, or the position of an error with its message. */
export type JsonText = { readonly value: unknown } | { readonly at: Position; readonly message: string };

/** Parses strict JSON. A duplicate key is an error, because `JSON.parse` would silently drop the first value. */
export function parseJsonText(text: string): JsonText {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return syntaxProblem(text, (error as Error).message);
  }
  const twice = parseDocument(text, { uniqueKeys: true }).errors.find(({ code }) => code === 'DUPLICATE_KEY');
  const at = twice?.linePos?.[0];
  return at === undefined ? { value } : { at: toPosition(at), message: 'the key is given twice' };
}

/** Returns the position of the value at `path`, or of its nearest existing parent. */
export function locate(text: string, path: Path): Position {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false });
  for (let length = path.length; length >= 0; length--) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return toPosition(lines.linePos(node.range[0]));
  }
  return { line: 1, column: 1 };
}

/** Formats a path as `tasks[1].loopOver[0].sink`. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

/** Converts a JSON pointer (RFC 6901) to a path. Indexes become numbers. */
export function pathOfPointer(pointer: string): Path {
  return stepsOfPointer(pointer).map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}

/**
 * Locates a syntax error. V8's message contains the position of most errors; the YAML parser finds the position of the
 * others.
 */
function syntaxProblem(text: string, reason: string): JsonText {
  const position = /\s*(?:in JSON )?at position \d+ \(line (\d+) column (\d+)\)/.exec(reason);
  if (position) {
    const message = reason.slice(0, position.index);
    return { at: { line: Number(position[1]), column: Number(position[2]) }, message };
  }
  const message = /^Unexpected token '.{1,2}'/su.exec(reason)?.[0] ?? reason;
  const found = parseDocument(text, { schema: 'json' }).errors[0]?.linePos?.[0];
  return { at: found === undefined ? endOf(text) : toPosition(found), message };
}

function endOf(text: string): Position {
  const lines = text.split('\n');
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
}

function toPosition({ line, col }: { line: number; col: number }): Position {
  return { line, column: col };
}
