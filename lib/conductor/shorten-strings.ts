// Truncates the long strings in a JSON text while the text arrives. The result is valid JSON.

const quote = 0x22;
const backslash = 0x5c;
const unicodeEscape = 0x75;

/** Mark at the end of a truncated string. */
export const cutMark = '…';
const markBytes = Buffer.from(cutMark);

/** Returns true for a truncated text, whose missing part may contain anything. */
export const isCut = (text: string) => text.endsWith(cutMark);

/** Returns true for a continuation byte of UTF-8. */
const isContinuation = (byte: number) => (byte & 0xc0) === 0x80;

/** Truncates the strings of one JSON text that is passed in chunks. */
export class StringShortener {
  readonly #longest: number;
  #inString = false;
  /** True when the previous byte was a backslash. */
  #escaped = false;
  /** Number of digits of a `\uXXXX` escape that have not arrived yet. */
  #digits = 0;
  #length = 0;
  #dropping = false;

  /**
   * @param longest number of bytes to keep of each string, without the mark; a character or escape sequence is never
   *   split
   */
  constructor(longest: number) {
    this.#longest = longest;
  }

  /** Returns the next chunk without the excess bytes of its strings. */
  push(chunk: Buffer): Buffer {
    const kept: Buffer[] = [];
    let from = 0;
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index] as number;
      if (!this.#inString) {
        if (byte === quote) this.#begin();
        continue;
      }
      if (byte === quote && !this.#escaped) {
        this.#inString = false;
        if (this.#dropping) from = index;
        this.#dropping = false;
        continue;
      }
      if (!this.#dropping && this.#mayCut(byte)) {
        kept.push(chunk.subarray(from, index), markBytes);
        this.#dropping = true;
      }
      this.#read(byte);
    }
    if (!this.#dropping) kept.push(chunk.subarray(from));
    return kept.length === 1 ? (kept[0] as Buffer) : Buffer.concat(kept);
  }

  #begin(): void {
    this.#inString = true;
    this.#length = 0;
  }

  #mayCut(byte: number): boolean {
    return this.#length >= this.#longest && !this.#escaped && this.#digits === 0 && !isContinuation(byte);
  }

  #read(byte: number): void {
    this.#length += 1;
    if (this.#escaped) {
      this.#escaped = false;
      if (byte === unicodeEscape) this.#digits = 4;
    } else if (byte === backslash) this.#escaped = true;
    else if (this.#digits > 0) this.#digits -= 1;
  }
}
