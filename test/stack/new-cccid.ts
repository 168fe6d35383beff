// Creates `cccid`s that no other test uses, because tests share the persons of the college adaptors.

import { randomUUID } from 'node:crypto';

/** Returns a new `cccid`: a letter and seven characters. */
export function newCccid(letter = 'T'): string {
  return `${letter}${randomUUID().slice(0, 7).toUpperCase()}`;
}
