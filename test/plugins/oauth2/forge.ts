// Makes access tokens, honest and forged, from nothing but node:crypto: JWT libraries refuse to create most of these.

import { createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';

export interface SigningKey {
  readonly kid: string;
  /** What honest tokens of this key are signed with. */
  readonly alg: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** As a provider publishes it. */
  readonly jwk: Record<string, unknown>;
}

/** A new key pair under a random `kid`. */
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

/** base64url of text or of a value as JSON. */
export function encode(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
}

/** Signs `input` with the private key, whatever the algorithm is called. */
export function signature(input: string, { privateKey, alg }: Pick<SigningKey, 'privateKey' | 'alg'>): string {
  const digest = `sha${alg.slice(2)}`;
  const padding = alg.startsWith('PS') ? { padding: 6, saltLength: Number(alg.slice(2)) / 8 } : {};
  return sign(digest, Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363', ...padding }).toString(
    'base64url',
  );
}

/** HMAC with any secret: the response to "what if a public key were a shared secret". */
export function hmac(input: string, secret: string | Buffer): string {
  return createHmac('sha256', secret).update(input).digest('base64url');
}

export interface TokenParts {
  /** Added to, or replacing, the honest header; undefined removes a member. */
  header?: Record<string, unknown>;
  /** Added to, or replacing, the honest claims; undefined removes one. */
  claims?: Record<string, unknown>;
}

export interface TokenMint {
  readonly issuer: string;
  readonly audience: string;
  nowSeconds(): number;
}

/** The honest header of a token. */
export function honestHeader(key: SigningKey): Record<string, unknown> {
  return { alg: key.alg, typ: 'at+jwt', kid: key.kid };
}

/** The honest claims of a token (RFC 9068 section 2.2) that lives for an hour and may write. */
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

/** A token signed by `key`, honest but for `parts`. */
export function createToken(key: SigningKey, mint: TokenMint, { header = {}, claims = {} }: TokenParts = {}): string {
  const input = `${encode({ ...honestHeader(key), ...header })}.${encode({ ...honestClaims(mint), ...claims })}`;
  return `${input}.${signature(input, key)}`;
}
