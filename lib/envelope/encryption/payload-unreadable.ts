// What was encrypted and cannot be decrypted.

/** Its message says why. Clients may see it: it names at most the id of a key. */
export class PayloadUnreadable extends Error {
  override readonly name = 'PayloadUnreadable';
}
