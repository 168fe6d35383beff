// How one text travels through the engine, such as a person's key: as it is, or as JSON where the engine would change it.

import { hasExpression } from './expressions.ts';

/** A text that the engine cannot hold as it is. */
export interface EncodedText {
  /** The text as a JSON string literal (RFC 8259 section 7), with NUL, lone surrogates and the `$` of `${` escaped. */
  json: string;
}

/**
 * True for a text that comes out of the engine as it went in. Not so: NUL (PostgreSQL cannot store it), a lone surrogate
 * (no encoding of Unicode has one) and `${` (the engine would resolve it as an expression).
 */
export function isSafeText(text: string): boolean {
  return !text.includes('\0') && !hasExpression(text) && text.isWellFormed();
}

/** The text itself when it is safe. Undone by {@link decodeText}. */
export function encodeText(text: string): string | EncodedText {
  // JSON.stringify escapes NUL and lone surrogates (well-formed since ES2019).
  return isSafeText(text) ? text : { json: JSON.stringify(text).replaceAll('${', '\\u0024{') };
}

/** The text of a JSON string literal. @throws TypeError when it is none; the message does not quote it */
export function decodeText(json: string): string {
  try {
    const text: unknown = JSON.parse(json);
    if (typeof text === 'string') return text;
  } catch {
    // The parser's own message quotes the text.
  }
  throw new TypeError('a text is not a JSON string');
}
