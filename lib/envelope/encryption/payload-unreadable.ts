// The error of failed payload decryption.

/** A payload that cannot be decrypted. Clients may see the message, which names at most the id of a key. */
export class PayloadUnreadable extends Error {
  override readonly name = 'PayloadUnreadable';
}
