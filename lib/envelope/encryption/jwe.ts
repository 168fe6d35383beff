// Encrypts and decrypts with JSON Web Encryption (RFC 7516) in compact serialization and a shared key: `alg` = `dir`,
// `enc` = `A256GCM` (RFC 7518).

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { PayloadKey, PayloadKeys } from './payload-keys.ts';
import { PayloadUnreadable } from './payload-unreadable.ts';

/** The authenticated context of a ciphertext. Decryption with another context fails. */
export interface Binding {
  /** Kind of the content; header `cty`. */
  contentType: string;
  /** The id of the request or execution to which the content belongs; header `sub` (RFC 7519 section 5.3). */
  subject: string;
}

const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/** Returns a JWE with a fresh random IV. The header, including the binding, is authenticated. */
export function encrypt(plaintext: Buffer, { contentType, subject }: Binding, { id, key }: PayloadKey): string {
  const header = { alg: 'dir', enc: 'A256GCM', kid: id, cty: contentType, sub: subject };
  const protectedHeader = Buffer.from(JSON.stringify(header)).toString('base64url');
  const iv = randomBytes(ivBytes);
  const encryption = createCipheriv(cipher, key, iv, { authTagLength: tagBytes });
  encryption.setAAD(Buffer.from(protectedHeader, 'ascii'));
  const ciphertext = Buffer.concat([encryption.update(plaintext), encryption.final()]);
  const parts = [iv, ciphertext, encryption.getAuthTag()].map((part) => part.toString('base64url'));
  return [protectedHeader, '', ...parts].join('.');
}

/**
 * Returns the plaintext of a JWE.
 * @throws PayloadUnreadable unless the token is intact and was encrypted for this binding with one of the keys
 */
export function decrypt(token: unknown, { contentType, subject }: Binding, keys: PayloadKeys): Buffer {
  const { protectedHeader, header, iv, ciphertext, tag } = split(token);
  const found = keys.byId.get(header.kid);
  if (found === undefined) {
    throw new PayloadUnreadable(
      keys.byId.size === 0 ? 'it is encrypted and payload.key is not set' : `there is no key with the id ${header.kid}`,
    );
  }
  if (header.cty !== contentType || header.sub !== subject)
    throw new PayloadUnreadable('it was encrypted for another execution');
  const decryption = createDecipheriv(cipher, found.key, iv, { authTagLength: tagBytes });
  decryption.setAAD(Buffer.from(protectedHeader, 'ascii'));
  decryption.setAuthTag(tag);
  try {
    return Buffer.concat([decryption.update(ciphertext), decryption.final()]);
  } catch (cause) {
    throw new PayloadUnreadable(`decryption with the key ${header.kid} failed`, { cause });
  }
}

function split(token: unknown) {
  const parts = typeof token === 'string' ? token.split('.') : [];
  const [protectedHeader = '', , ...rest] = parts;
  const [iv, ciphertext, tag] = rest.map((part) => Buffer.from(part, 'base64url'));
  const header = parseHeader(protectedHeader);
  const wellFormed = parts.length === 5 && parts[1] === '' && iv?.length === ivBytes && tag?.length === tagBytes;
  if (!wellFormed || header === null || iv === undefined || ciphertext === undefined || tag === undefined)
    throw new PayloadUnreadable('it is not a JWE with a shared key and A256GCM');
  return { protectedHeader, header, iv, ciphertext, tag };
}

/**
 * Parses a header. Returns null for every header that {@link encrypt} would not write, because algorithms are not
 * negotiable.
 */
function parseHeader(text: string): { kid: string; cty: unknown; sub: unknown } | null {
  try {
    const { alg, enc, kid, cty, sub, ...rest } = JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<
      string,
      unknown
    >;
    if (alg !== 'dir' || enc !== 'A256GCM' || Object.keys(rest).length > 0) return null;
    return typeof kid === 'string' && /^[\w-]{1,32}$/.test(kid) ? { kid, cty, sub } : null;
  } catch {
    return null;
  }
}
