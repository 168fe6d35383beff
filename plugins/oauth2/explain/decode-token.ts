// Decodes a JWT without verifying it.

import { readJsonObject } from '#lib/json/json-object.ts';

/** Header and claims of a JWT, not verified. */
export interface DecodedToken {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Returns the header and claims of a JWT (RFC 7519), or null when the token is opaque. */
export function decodeToken(token: string): DecodedToken | null {
  const [header, claims, signature, ...rest] = token.split('.');
  if (header === undefined || claims === undefined || signature === undefined || rest.length > 0) return null;
  const [decodedHeader, decodedClaims] = [decode(header), decode(claims)];
  return decodedHeader === null || decodedClaims === null ? null : { header: decodedHeader, claims: decodedClaims };
}

const decode = (segment: string) => readJsonObject(Buffer.from(segment, 'base64url'));

/** The claims that the CLI shows. Other claims may hold personal data, so only their names are shown. */
export interface ShownClaims {
  readonly algorithm?: string;
  readonly keyId?: string;
  readonly type?: string;
  readonly issuer?: string;
  readonly audience?: string;
  readonly client?: string;
  readonly scopes?: string;
  readonly issuedAt?: string;
  readonly notBefore?: string;
  readonly expiresAt?: string;
  readonly otherClaims?: string;
}

const shown = ['iss', 'aud', 'client_id', 'azp', 'scope', 'scp', 'scopes', 'iat', 'nbf', 'exp'];

/** Returns the claims to show, as text. */
export function showClaims({ header, claims }: DecodedToken): ShownClaims {
  const other = Object.keys(claims).filter((name) => !shown.includes(name));
  return {
    ...field('algorithm', header['alg']),
    ...field('keyId', header['kid'] === '' ? undefined : header['kid']),
    ...field('type', header['typ']),
    ...field('issuer', claims['iss']),
    ...field('audience', claims['aud']),
    ...field('client', claims['client_id'] ?? claims['azp']),
    ...field('scopes', claims['scope'] ?? claims['scp'] ?? claims['scopes']),
    ...field('issuedAt', timeOf(claims['iat'])),
    ...field('notBefore', timeOf(claims['nbf'])),
    ...field('expiresAt', timeOf(claims['exp'])),
    ...field('otherClaims', other.length === 0 ? undefined : other.join(' ')),
  };
}

function field(name: keyof ShownClaims, value: unknown): Partial<ShownClaims> {
  if (value === undefined || value === null) return {};
  const text = Array.isArray(value) ? value.map(String).join(' ') : String(value);
  return { [name]: text };
}

/** Converts a NumericDate (RFC 7519) to RFC 3339. Other values stay as they are. */
function timeOf(value: unknown): unknown {
  return typeof value === 'number' && Math.abs(value) < 8.64e12 ? new Date(value * 1_000).toISOString() : value;
}
