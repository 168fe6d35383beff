// Explains why a token is refused, by comparing its claims with the configured requirements.

import type { Config } from '#lib/config/schema.ts';
import { InvalidTokenError, type InvalidTokenReason } from '../access-token/invalid-token-error.ts';
import { ProviderError } from '../provider/provider-error.ts';
import type { ShownClaims } from './decode-token.ts';

/** Why a token is refused. */
export interface Refusal {
  /** The reason as in the label `result` of router_access_tokens_checked_total. */
  readonly reason: InvalidTokenReason | 'unavailable';
  /** HTTP status of the router's response. */
  readonly status: 401 | 503;
  /** A sentence for the operator. */
  readonly explanation: string;
}

/**
 * Explains the error from a token check.
 * @param error error that `AccessTokens.check` threw
 * @param claims claims of the token, not verified; null when the token cannot be decoded
 * @throws the same error when it is neither a ProviderError nor an InvalidTokenError
 */
export function explainRefusal(error: unknown, claims: ShownClaims | null, config: Config): Refusal {
  if (error instanceof ProviderError) {
    return { reason: 'unavailable', status: 503, explanation: `it cannot be checked now: ${error.message}` };
  }
  if (!(error instanceof InvalidTokenError)) throw error;
  return { reason: error.reason, status: 401, explanation: explainRejection(error, claims, config) };
}

/**
 * Returns a sentence that says why a token was rejected.
 * @param claims as for {@link explainRefusal}
 */
export function explainRejection({ reason }: InvalidTokenError, claims: ShownClaims | null, config: Config): string {
  const ofOpaque = claims === null ? sentencesOfOpaque[reason] : undefined;
  return (ofOpaque ?? sentences[reason])(claims ?? {}, config);
}

const sentences: Readonly<Record<InvalidTokenReason, (claims: ShownClaims, config: Config) => string>> = {
  format: (_, config) =>
    config['oauth.introspectionURL'] === undefined
      ? 'it is not a JWT in canonical form, and opaque tokens are not accepted: oauth.introspectionURL is not set'
      : 'it is not a JWT in canonical form, and cannot be an opaque token: it has three segments, or characters that RFC 6750 does not allow',
  size: () => 'it is longer than 8192 characters',
  algorithm: (claims, config) =>
    `it is signed with ${claims.algorithm ?? 'no algorithm'}; oauth.algorithms has ${config['oauth.algorithms'].join(', ')}`,
  type: (claims, config) =>
    `its typ is ${claims.type ?? 'absent'}; oauth.acceptedTypes has ${config['oauth.acceptedTypes'].join(', ')}: is it an ID token?`,
  'critical-extension': () => 'its header requires an extension (crit, b64), and the router supports none',
  'unknown-key': ({ keyId, algorithm }) =>
    keyId === undefined
      ? 'its header has no kid, so it does not say with which key of the identity provider it was signed'
      : `the identity provider has no key ${keyId} for ${algorithm ?? 'its algorithm'}: is the token from another provider, or was the key withdrawn?`,
  signature: (claims) =>
    `its signature does not match the key ${claims.keyId ?? ''}: the token was changed, or signed by somebody else`,
  claims: () => 'a claim is missing or malformed: exp must be a number, and scopes a string or a list',
  client: (_, config) =>
    `none of the claims in oauth.clientIdClaims (${config['oauth.clientIdClaims'].join(', ')}) names its client`,
  issuer: (claims, config) =>
    `its issuer is ${claims.issuer ?? 'absent'}; oauth.issuer is ${config['oauth.issuer'] ?? ''}`,
  audience: (claims, config) =>
    `its audience is ${claims.audience ?? 'absent'}; oauth.audience is ${config['oauth.audience'] ?? ''}`,
  expired: ({ expiresAt }) => `it has expired${expiresAt === undefined ? '' : ` (${expiresAt})`}: get another one`,
  'not-yet-valid': (claims) => {
    const validFrom = laterOf(claims.notBefore, claims.issuedAt);
    const when = validFrom === undefined ? 'it is not valid yet' : `it is not valid before ${validFrom}`;
    return `${when}: do the clocks of the router and the provider agree?`;
  },
  'too-long-life': (claims, config) =>
    `it is valid from ${claims.issuedAt ?? 'now'} to ${claims.expiresAt ?? 'an unknown time'}; oauth.maxTokenSeconds allows ${config['oauth.maxTokenSeconds']} s`,
  'sender-constrained': () =>
    'it is bound to a key of its holder (cnf: DPoP or mutual TLS), and the router checks no proof of possession',
  'token-type': () =>
    'its introspection response does not say that it is a bearer access token (token_type, token_use): is it a refresh token? If the provider returns no token_type, set oauth.introspectionRequiresTokenType=false',
  inactive: () => 'the identity provider says that it is not active: expired, revoked, or issued by another provider',
};

/** Sentences about an opaque token, whose claims only the introspection response has. */
const sentencesOfOpaque: Partial<typeof sentences> = {
  issuer: (_, config) =>
    `the issuer in its introspection response is not oauth.issuer (${config['oauth.issuer'] ?? ''})`,
  audience: (_, config) =>
    `its introspection response does not have oauth.audience (${config['oauth.audience'] ?? ''}) in aud`,
};

/** Returns the later of two times in RFC 3339 with the same offset. */
function laterOf(one: string | undefined, other: string | undefined): string | undefined {
  return [one, other]
    .filter((time) => time !== undefined)
    .sort()
    .at(-1);
}
