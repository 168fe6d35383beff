// The error thrown when payload decryption fails.

/**
 * Thrown for a payload that cannot be decrypted. Clients may see the message, which reveals at most the id of a key.
 */
export class PayloadUnreadable extends Error {
  override readonly name = 'PayloadUnreadable';
}
