// Parses the header of a JWT strictly: three canonical base64url segments (RFC 7515 section 7.1) and only accepted
// header values.

import { readJsonObject } from '#lib/json/json-object.ts';
import type { Algorithm } from '../provider/key-set.ts';
import { InvalidTokenError } from './invalid-token-error.ts';

/** The algorithms and types that the header of an access token may name. */
export interface HeaderRules {
  readonly algorithms: ReadonlySet<Algorithm>;
  /** Media types as {@link normalizeType} writes them; `absent` accepts a header without `typ`. */
  readonly types: ReadonlySet<string>;
}

/**
 * The header fields in use. `jwk`, `jku`, `x5u` and `x5c` are ignored: keys come only from the provider (RFC 8725
 * section 3.10).
 */
export interface JwtHeader {
  readonly alg: Algorithm;
  readonly kid: string;
}

const compactForm = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Returns `typ` in lower case, without the optional prefix `application/` (RFC 7515 section 4.1.9). */
export function normalizeType(type: string): string {
  return type.toLowerCase().replace(/^application\//, '');
}

/**
 * Parses and checks the header.
 * @throws InvalidTokenError
 */
export function readJwtHeader(token: string, rules: HeaderRules): JwtHeader {
  const segments = token.split('.');
  if (!compactForm.test(token) || !segments.every(isCanonical)) throw new InvalidTokenError('format');
  const header = parseHeader(segments[0] as string);
  const { alg, kid, typ } = header;
  if (!rules.algorithms.has(alg as Algorithm)) throw new InvalidTokenError('algorithm');
  if (!rules.types.has(typeof typ === 'string' ? normalizeType(typ) : typ === undefined ? 'absent' : '')) {
    throw new InvalidTokenError('type');
  }
  // No extension is supported: any `crit` (RFC 7515 section 4.1.11) and the unencoded payload of RFC 7797 are rejected.
  if ('crit' in header || 'b64' in header) throw new InvalidTokenError('critical-extension');
  if (typeof kid !== 'string' || kid === '') throw new InvalidTokenError('unknown-key');
  return { alg: alg as Algorithm, kid };
}

/**
 * Returns whether the unused bits of the last base64url character are zero, so that each token has only one encoding.
 */
function isCanonical(segment: string): boolean {
  const rest = segment.length % 4;
  if (rest === 0) return true;
  return rest === 2 ? /[AQgw]$/.test(segment) : rest === 3 && /[AEIMQUYcgkosw048]$/.test(segment);
}

function parseHeader(segment: string): Record<string, unknown> {
  const header = readJsonObject(Buffer.from(segment, 'base64url'));
  if (header === null) throw new InvalidTokenError('format');
  return header;
}
