// Encodes short strings for the engine, such as a person's key: unchanged, or JSON-escaped if the engine would change
// them.

import { hasExpression } from './expressions.ts';

/** A string that the engine would change. */
export interface EncodedText {
  /**
   * The string as a JSON string literal (RFC 8259 section 7), with NUL, lone surrogates and the `$` of `${` escaped.
   */
  json: string;
}

/**
 * Returns true for a string that the engine stores unchanged: a string that contains neither NUL (PostgreSQL cannot
 * store it) nor lone surrogates (UTF-8 cannot encode them) nor `${` (the engine would resolve it as an expression).
 */
export function isSafeText(text: string): boolean {
  return !text.includes('\0') && !hasExpression(text) && text.isWellFormed();
}

/** Returns the string itself when it is safe, otherwise its JSON form. Reversed by {@link decodeText}. */
export function encodeText(text: string): string | EncodedText {
  // JSON.stringify escapes NUL and lone surrogates (well-formed since ES2019).
  return isSafeText(text) ? text : { json: JSON.stringify(text).replaceAll('${', '\\u0024{') };
}

/** Parses a JSON string literal. @throws TypeError for anything else; the message does not quote the string */
export function decodeText(json: string): string {
  try {
    const text: unknown = JSON.parse(json);
    if (typeof text === 'string') return text;
  } catch {
    // The error of JSON.parse is dropped, because its message quotes the string.
  }
  throw new TypeError('an encoded text is not a JSON string');
}
