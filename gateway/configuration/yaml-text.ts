// Parses YAML text and locates each of its values by line and column.

import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from 'yaml';
import type { Path, Position } from '#lib/conductor/definitions/json-text.ts';
import { yamlOptions } from '#lib/json/yaml-options.ts';

/** YAML text, its value, and the positions of its keys and items. */
export class YamlText {
  /** The content as plain values; undefined when there is a syntax error. */
  readonly value: unknown;
  readonly syntaxErrors: readonly { readonly at: Position; readonly message: string }[];
  readonly #document: Document;
  readonly #lines = new LineCounter();

  constructor(text: string) {
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false, ...yamlOptions });
    // Report only the first syntax error: the parser reports follow-up errors for nearly every word after it.
    const firstFault = this.#document.errors.find(({ code }) => code !== 'DUPLICATE_KEY');
    const faults = this.#document.errors
      .filter((error) => error.code === 'DUPLICATE_KEY' || error === firstFault)
      .map(({ pos, message }) => ({ offset: pos[0], message }));
    if (firstFault === undefined) faults.push(...faultyReferences(this.#document));
    try {
      this.value = faults.length === 0 ? this.#document.toJS(yamlOptions) : undefined;
    } catch (error) {
      faults.push({ offset: 0, message: `the aliases cannot be expanded: ${reasonOf(error)}` });
    }
    this.syntaxErrors = faults.map(({ offset, message }) => ({ at: this.#position(offset), message }));
  }

  /** Returns the position of the key or list item at a path, or of its nearest parent that exists. */
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

/**
 * Returns why the parser did not expand the aliases. The parser's own message about too many aliases does not say what
 * to do.
 */
function reasonOf(error: unknown): string {
  if (!(error instanceof ReferenceError)) return (error as Error).message;
  return `an anchor may be used at most ${yamlOptions.maxAliasCount} times: an alias inside an aliased value counts once for each use of that value`;
}

/**
 * Returns the aliases that have no anchor or stand inside the value of their own anchor, and each merge key (`<<`)
 * source that is not a map. The parser accepts all of them.
 */
function faultyReferences(document: Document): { offset: number; message: string }[] {
  const found: { offset: number; message: string }[] = [];
  const add = (node: unknown, message: string) => found.push({ offset: offsetOf(node) ?? 0, message });
  // `Alias.resolve` would search the whole document for each alias.
  const anchors = new Map<string, Node>();
  const targets = new Map<unknown, Node | undefined>();
  const targetOf = (node: unknown) => (isAlias(node) ? targets.get(node) : node);
  const merged: unknown[] = [];
  visit(document, {
    Node(_key, node, parents) {
      if (!isAlias(node)) return void (node.anchor !== undefined && anchors.set(node.anchor, node));
      const target = anchors.get(node.source);
      targets.set(node, target);
      if (target === undefined) add(node, `there is no anchor "${node.source}" before this alias`);
      else if (parents.includes(target)) add(node, `the value with the anchor "${node.source}" contains this alias`);
    },
    Pair(_key, { key, value }) {
      if (isScalar(key) && key.source === '<<' && key.type === 'PLAIN') merged.push(value);
    },
  });
  for (const value of merged) {
    const target = targetOf(value);
    for (const source of isSeq(target) ? target.items : [value]) {
      const map = targetOf(source);
      if (map !== undefined && !isMap(map)) add(source, 'only a map, or a list of maps, can be merged');
    }
  }
  return found;
}

/** Returns the child of a node, and the offset to which messages about the child refer. */
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
