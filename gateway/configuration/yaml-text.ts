// A YAML text with the line and column of everything in it.

import { type Document, isAlias, isMap, isNode, isPair, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { Path, Position } from '#lib/conductor/definitions/json-text.ts';

export class YamlText {
  /** The content as plain values; undefined when there is a syntax error. */
  readonly value: unknown;
  readonly syntaxErrors: readonly { readonly at: Position; readonly message: string }[];
  readonly #document: Document;
  readonly #lines = new LineCounter();

  constructor(text: string) {
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false, merge: true });
    // What follows a text that is not YAML is not worth reading: the parser complains of each of its words.
    const firstFault = this.#document.errors.find(({ code }) => code !== 'DUPLICATE_KEY');
    this.syntaxErrors = this.#document.errors
      .filter((error) => error.code === 'DUPLICATE_KEY' || error === firstFault)
      .map(({ pos, message }) => ({ at: this.#position(pos[0]), message }));
    this.value = this.syntaxErrors.length === 0 ? this.#document.toJS() : undefined;
  }

  /** Where the key at the end of a path is, or the item of a list; the nearest parent when the path leads nowhere. */
  locate(path: Path): Position {
    let node: unknown = this.#document.contents;
    let found = offsetOf(node) ?? 0;
    for (const step of path) {
      const [next, offset] = stepInto(isAlias(node) ? node.resolve(this.#document) : node, step);
      if (offset === undefined) break;
      found = offset;
      node = next;
    }
    return this.#position(found);
  }

  #position(offset: number): Position {
    const { line, col } = this.#lines.linePos(offset);
    return { line, column: col };
  }
}

/** The value below a node, and the offset at which a message about it points. */
function stepInto(node: unknown, step: string | number): [value: unknown, offset: number | undefined] {
  if (isSeq(node)) {
    const item = node.items[Number(step)];
    return [item, offsetOf(item)];
  }
  if (!isMap(node)) return [undefined, undefined];
  const pair = node.items.find(({ key }) => String(isScalar(key) ? key.value : key) === String(step));
  return [pair?.value, offsetOf(pair?.key)];
}

function offsetOf(node: unknown): number | undefined {
  return isNode(node) && !isPair(node) ? node.range?.[0] : undefined;
}
