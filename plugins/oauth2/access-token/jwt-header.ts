// The strict outside of a JWT: three canonical base64url segments (RFC 7515 section 7.1) and a header with no surprises.

import type { Algorithm } from '../provider/key-set.ts';
import { InvalidTokenError } from './invalid-token-error.ts';

/** What a JWT's header may say. */
export interface HeaderRules {
  readonly algorithms: ReadonlySet<Algorithm>;
  /** Media types as {@link normalizeType} writes them; `absent` lets a header without `typ` pass. */
  readonly types: ReadonlySet<string>;
}

/** The part of the header that is used. `jwk`, `jku`, `x5u` and `x5c` are never looked at: keys come from the provider. */
export interface JwtHeader {
  readonly alg: Algorithm;
  readonly kid: string;
}

const compactForm = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** `typ` without the prefix that may be left out, in lower case (RFC 7515 section 4.1.9). */
export function normalizeType(type: string): string {
  return type.toLowerCase().replace(/^application\//, '');
}

/** @throws InvalidTokenError */
export function readJwtHeader(token: string, rules: HeaderRules): JwtHeader {
  const segments = token.split('.');
  if (!compactForm.test(token) || !segments.every(isCanonical)) throw new InvalidTokenError('format');
  const header = parseHeader(segments[0] as string);
  const { alg, kid, typ } = header;
  if (!rules.algorithms.has(alg as Algorithm)) throw new InvalidTokenError('algorithm');
  if (!rules.types.has(typeof typ === 'string' ? normalizeType(typ) : typ === undefined ? 'absent' : '')) {
    throw new InvalidTokenError('type');
  }
  // No extension is understood here, so every `crit` is one too many (RFC 7515 section 4.1.11).
  if ('crit' in header || 'b64' in header) throw new InvalidTokenError('critical-extension');
  if (typeof kid !== 'string' || kid === '') throw new InvalidTokenError('unknown-key');
  return { alg: alg as Algorithm, kid };
}

/** The bits that the last character has to spare are zero: one token, one spelling. */
function isCanonical(segment: string): boolean {
  const rest = segment.length % 4;
  if (rest === 0) return true;
  return rest === 2 ? /[AQgw]$/.test(segment) : rest === 3 && /[AEIMQUYcgkosw048]$/.test(segment);
}

function parseHeader(segment: string): Record<string, unknown> {
  try {
    const header: unknown = JSON.parse(Buffer.from(segment, 'base64url').toString('utf8'));
    if (header !== null && typeof header === 'object' && !Array.isArray(header)) {
      return header as Record<string, unknown>;
    }
  } catch {
    // Answered like every other thing that is not a header.
  }
  throw new InvalidTokenError('format');
}
