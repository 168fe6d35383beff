// Formats lists as English text.

const format = new Intl.ListFormat('en-GB');

/** Returns the words as a list: `a`, `a and b`, `a, b and c`. */
export function listWords(words: readonly string[]): string {
  return format.format(words);
}
