// Creates valid and forged access tokens with node:crypto, because JWT libraries refuse to create most forged ones.

import { createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';

export interface SigningKey {
  readonly kid: string;
  /** Signature algorithm of this key's valid tokens. */
  readonly alg: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** The public key as a provider publishes it. */
  readonly jwk: Record<string, unknown>;
}

/** Creates a key pair with a random `kid`. */
export function createKey(alg: 'RS256' | 'PS256' | 'ES256' | 'ES384' = 'RS256', bits = 2048): SigningKey {
  const { privateKey, publicKey } = alg.startsWith('ES')
    ? generateKeyPairSync('ec', { namedCurve: alg === 'ES256' ? 'P-256' : 'P-384' })
    : generateKeyPairSync('rsa', { modulusLength: bits });
  const kid = randomUUID();
  return {
    kid,
    alg,
    privateKey,
    publicKey,
    jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg },
  };
}

/** Encodes a string as it is, and any other value as JSON, in base64url. */
export function encode(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
}

/** Signs `input` with the private key and its algorithm. */
export function signature(input: string, { privateKey, alg }: Pick<SigningKey, 'privateKey' | 'alg'>): string {
  const digest = `sha${alg.slice(2)}`;
  const padding = alg.startsWith('PS') ? { padding: 6, saltLength: Number(alg.slice(2)) / 8 } : {};
  return sign(digest, Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363', ...padding }).toString(
    'base64url',
  );
}

/** Returns an HMAC with any secret, for attacks that use a public key as a shared secret. */
export function hmac(input: string, secret: string | Buffer): string {
  return createHmac('sha256', secret).update(input).digest('base64url');
}

export interface TokenParts {
  /** Members that are added to the valid header or replace its members; undefined removes a member. */
  header?: Record<string, unknown>;
  /** Members that are added to the valid claims or replace them; undefined removes a claim. */
  claims?: Record<string, unknown>;
}

export interface TokenMint {
  readonly issuer: string;
  readonly audience: string;
  nowSeconds(): number;
}

/** Returns the header of a valid token. */
export function honestHeader(key: SigningKey): Record<string, unknown> {
  return { alg: key.alg, typ: 'at+jwt', kid: key.kid };
}

/** Returns the claims of a valid token (RFC 9068 section 2.2) that expires in an hour and allows writes. */
export function honestClaims(mint: TokenMint): Record<string, unknown> {
  const iat = Math.floor(mint.nowSeconds());
  return {
    iss: mint.issuer,
    aud: mint.audience,
    sub: 'demo',
    client_id: 'demo',
    jti: randomUUID(),
    iat,
    exp: iat + 3600,
    scope: 'sisdata_W',
  };
}

/** Returns a token that is signed by `key` and valid except for `parts`. */
export function createToken(key: SigningKey, mint: TokenMint, { header = {}, claims = {} }: TokenParts = {}): string {
  const input = `${encode({ ...honestHeader(key), ...header })}.${encode({ ...honestClaims(mint), ...claims })}`;
  return `${input}.${signature(input, key)}`;
}
