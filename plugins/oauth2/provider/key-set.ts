// Parses a JSON Web Key Set (RFC 7517) into the public keys that may verify access tokens.

import { createPublicKey, type KeyObject } from 'node:crypto';
import { ProviderError } from './provider-error.ts';
import { parseProviderResponse } from './provider-http.ts';

/** Signature algorithms (RFC 7518 section 3.1) by `kty` or, for elliptic curves, `crv` of their keys. */
const algorithmsByKeyType = {
  RSA: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
} as const satisfies Record<string, readonly string[]>;

/** A value of `alg` that this plugin can verify (RFC 7518 section 3.1). */
export type Algorithm = (typeof algorithmsByKeyType)[keyof typeof algorithmsByKeyType][number];

/** Algorithms that the configuration may accept. All are asymmetric, so a public key never doubles as a secret. */
export const supportedAlgorithms: readonly Algorithm[] = Object.values(algorithmsByKeyType).flat();

/** A public key and the algorithms whose signatures it may verify. */
export interface VerificationKey {
  readonly key: KeyObject;
  readonly algorithms: readonly Algorithm[];
}

/** Keys by `kid`. Several keys may share a `kid` when their types differ (RFC 7517 section 4.5). */
export type KeySet = ReadonlyMap<string, readonly VerificationKey[]>;

const maxKeys = 100;
const minRsaBits = 2048;

type Jwk = Record<string, unknown>;

/**
 * Returns the usable keys of a key set: those that have a `kid` and may verify signatures of an accepted algorithm.
 * Other keys are ignored (RFC 7517 section 5). Empty when no key is usable.
 * @throws ProviderError `bad-answer` when the body is not a key set
 */
export function parseKeySet(body: Buffer, accepted: ReadonlySet<Algorithm>): KeySet {
  const { keys } = parseProviderResponse(body, 'key set');
  if (!Array.isArray(keys)) throw new ProviderError('bad-answer', 'key set: "keys" is not a list');
  if (keys.length > maxKeys) throw new ProviderError('bad-answer', `key set: more than ${maxKeys} keys`);
  const set = new Map<string, VerificationKey[]>();
  for (const jwk of keys as unknown[]) {
    const key = toVerificationKey(jwk, accepted);
    if (key === undefined) continue;
    const { kid } = jwk as { kid: string };
    set.set(kid, [...(set.get(kid) ?? []), key]);
  }
  return set;
}

function toVerificationKey(value: unknown, accepted: ReadonlySet<Algorithm>): VerificationKey | undefined {
  if (value === null || typeof value !== 'object') return undefined;
  const jwk = value as Jwk;
  if (typeof jwk['kid'] !== 'string' || jwk['kid'] === '' || !isForSignatures(jwk)) return undefined;
  const algorithms = algorithmsOf(jwk).filter((algorithm) => accepted.has(algorithm));
  const key = algorithms.length === 0 ? undefined : importPublicKey(jwk);
  return key === undefined ? undefined : { key, algorithms };
}

function isForSignatures({ use, key_ops: operations }: Jwk): boolean {
  if (use !== undefined && use !== 'sig') return false;
  return operations === undefined || (Array.isArray(operations) && operations.includes('verify'));
}

/**
 * Returns the algorithms of the key's type, or only its `alg` when it has one (RFC 8725 section 3.1: one algorithm for
 * each key).
 */
function algorithmsOf({ kty, crv, alg }: Jwk): readonly Algorithm[] {
  const type = kty === 'EC' ? crv : kty;
  if (type !== 'RSA' && type !== 'P-256' && type !== 'P-384' && type !== 'P-521') return [];
  const possible: readonly Algorithm[] = algorithmsByKeyType[type];
  return alg === undefined ? possible : possible.filter((algorithm) => algorithm === alg);
}

function importPublicKey({ kty, n, e, crv, x, y }: Jwk): KeyObject | undefined {
  try {
    // Only the public members are imported, in case the set leaks a private key.
    const jwk = kty === 'RSA' ? { kty, n, e } : { kty, crv, x, y };
    const key = createPublicKey({ key: jwk as Record<string, string>, format: 'jwk' });
    const bits = key.asymmetricKeyDetails?.modulusLength;
    return bits !== undefined && bits < minRsaBits ? undefined : key;
  } catch {
    return undefined;
  }
}
