// Edits the text of a `.properties` file; comments, order and line endings stay as they are.

import { Properties, type PropertyNode } from 'properties-file/parser';

/**
 * Sets each key to its value and returns the edited text. An existing key keeps its place; a new key comes after the
 * last of the keys with which it shares the longest dotted prefix (`adaptor.003.url` after `adaptor.002.domain`), or at
 * the end if it shares no prefix with any key. Keys and values are escaped only where the syntax requires it.
 */
export function setProperties(text: string, values: Readonly<Record<string, string>>): string {
  return Object.entries(values).reduce((edited, [key, value]) => setProperty(edited, key, value), text);
}

function setProperty(text: string, key: string, value: string): string {
  const { eolCharacter, ...file } = new Properties(text);
  const properties = file.nodes.filter((node) => node.type === 'property');
  // When a key is repeated, its last occurrence counts.
  const existing = properties.findLast((property) => property.key === key);
  const line = `${escape(key, /[\s=:\\#!]/g)}=${escape(value, /^\s|[\\\n\r]/g)}`;
  // Each line keeps its own line break, because a file may mix several kinds of them.
  const lines = text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? [];
  const last = existing ?? closestTo(key, properties);
  const end = last?.endingLineNumber ?? lines.length;
  const start = existing === undefined ? end : existing.startingLineNumber - 1;
  lines.splice(start, end - start, line);
  return lines.map((one) => (/[\r\n]$/.test(one) ? one : `${one}${eolCharacter}`)).join('');
}

/** Returns the last of the properties that share the longest dotted prefix with the key; undefined when none does. */
function closestTo(key: string, properties: readonly PropertyNode[]): PropertyNode | undefined {
  const parts = key.split('.');
  const inCommon = (property: PropertyNode) => {
    const others = property.key.split('.');
    const differs = parts.findIndex((part, index) => others[index] !== part);
    return differs === -1 ? parts.length : differs;
  };
  const most = Math.max(0, ...properties.map(inCommon));
  return most === 0 ? undefined : properties.findLast((property) => inCommon(property) === most);
}

/** Escapes each match as Java's `Properties` does. */
function escape(text: string, special: RegExp): string {
  const named: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\f': '\\f' };
  return text.replace(special, (character) => named[character] ?? `\\${character}`);
}
