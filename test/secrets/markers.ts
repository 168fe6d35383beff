// Markers: unique words that serve as credentials and personal values in one run and can be found wherever they end up.

import { randomBytes } from 'node:crypto';

export function createMarkers() {
  const run = randomBytes(6).toString('hex');
  const credentials = `crd${run}`;
  const people = `psn${run}`;
  const needles = [credentials, people].flatMap((prefix) => [Buffer.from(prefix), ...base64Forms(prefix)]);
  return {
    /** Returns a random credential. @param use its purpose; letters and digits */
    credential: (use: string) => `${credentials}${use}`,
    /** Returns a random value that identifies a person. */
    personal: (use: string) => `${people}${use}`,
    /** Returns every marker in a string or in bytes, as plain text or as base64. */
    findIn(content: string | Buffer) {
      const bytes = typeof content === 'string' ? Buffer.from(content) : content;
      return [...new Set(needles.flatMap((needle) => occurrences(bytes, needle)))].sort();
    },
  };
}

export type Markers = ReturnType<typeof createMarkers>;

/**
 * Returns the base64 forms of a word for each possible offset, without the characters that depend on its neighbours.
 */
function base64Forms(word: string): Buffer[] {
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.from(`${' '.repeat(offset)}${word}`)
      .toString('base64')
      .replace(/=+$/, '');
    return Buffer.from(encoded.slice(Math.ceil((offset * 8) / 6), -1));
  });
}

/** Returns the words that begin with `needle`, or the base64 text that begins with it. */
function occurrences(bytes: Buffer, needle: Buffer): string[] {
  const found = new Set<string>();
  for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at + 1)) {
    found.add(/^[0-9A-Za-z+/]*/.exec(bytes.toString('latin1', at, at + 60))?.[0] ?? '');
  }
  return [...found];
}
