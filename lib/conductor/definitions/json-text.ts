// JSON files as people write them: where a syntax error is, keys given twice, and the line of a value.

import { LineCounter, isNode, parseDocument } from 'yaml';

/** The way to a value: keys and indexes from the root. */
export type Path = readonly (string | number)[];

/** A place in a text; both count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A parsed text, or the place and the reason why it is not JSON. */
export type JsonText = { readonly value: unknown } | { readonly at: Position; readonly message: string };

/** Parses strict JSON; a key given twice is an error, as `JSON.parse` would silently drop the first. */
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

/** Where the value at `path` begins; the nearest parent when the path leads nowhere. */
export function locate(text: string, path: Path): Position {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false });
  for (let length = path.length; length >= 0; length--) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return toPosition(lines.linePos(node.range[0]));
  }
  return { line: 1, column: 1 };
}

/** `tasks[1].loopOver[0].sink` */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

/** A JSON pointer (RFC 6901) as a path: indexes become numbers. */
export function pathOfPointer(pointer: string): Path {
  const steps = pointer.split('/').slice(1);
  return steps.map((step) => (/^\d+$/.test(step) ? Number(step) : step.replaceAll('~1', '/').replaceAll('~0', '~')));
}

/** The engine of JavaScript tells the place of most errors; the YAML parser knows the others. */
function syntaxProblem(text: string, reason: string): JsonText {
  const told = /\s*(?:in JSON )?at position \d+ \(line (\d+) column (\d+)\)/.exec(reason);
  if (told) {
    const message = reason.slice(0, told.index);
    return { at: { line: Number(told[1]), column: Number(told[2]) }, message };
  }
  const message = /^Unexpected token '.{1,2}'/su.exec(reason)?.[0] ?? reason;
  const seen = parseDocument(text, { schema: 'json' }).errors[0]?.linePos?.[0];
  return { at: seen === undefined ? endOf(text) : toPosition(seen), message };
}

function endOf(text: string): Position {
  const lines = text.split('\n');
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
}

function toPosition({ line, col }: { line: number; col: number }): Position {
  return { line, column: col };
}
