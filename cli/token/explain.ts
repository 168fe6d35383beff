// Why a token is refused, in a sentence with what the token says and what the configuration asks for.

import type { Config } from '#lib/config/schema.ts';
import { InvalidTokenError, type InvalidTokenReason } from '../../plugins/oauth2/access-token/invalid-token-error.ts';
import { ProviderError } from '../../plugins/oauth2/provider/provider-error.ts';
import { formatSpan } from '../input/duration.ts';
import type { ShownClaims } from './decode.ts';

export interface Refusal {
  /** The router's own word for it: `result` of router_access_tokens_checked_total. */
  readonly reason: InvalidTokenReason | 'unavailable';
  /** Of the answer. */
  readonly status: 401 | 503;
  readonly explanation: string;
}

/**
 * @param error what `AccessTokens.check` threw
 * @param said what the token says of itself; null when it cannot be decoded
 * @throws error when it is of another kind
 */
export function explainRefusal(error: unknown, said: ShownClaims | null, config: Config): Refusal {
  if (error instanceof ProviderError) {
    return { reason: 'unavailable', status: 503, explanation: `it cannot be checked now: ${error.message}` };
  }
  if (!(error instanceof InvalidTokenError)) throw error;
  return { reason: error.reason, status: 401, explanation: sentences[error.reason](said ?? {}, config) };
}

const sentences: Readonly<Record<InvalidTokenReason, (said: ShownClaims, config: Config) => string>> = {
  format: (_, config) =>
    config['oauth.introspectionURL'] === undefined
      ? 'it is no JWT in canonical form, and opaque tokens are not accepted: oauth.introspectionURL is not set'
      : 'it is neither a JWT in canonical form nor a bearer token',
  size: () => 'it is longer than 8192 characters',
  algorithm: (said, config) =>
    `it is signed with ${said.algorithm ?? 'no algorithm'}; oauth.algorithms has ${config['oauth.algorithms'].join(', ')}`,
  type: (said, config) =>
    `its typ is ${said.type ?? 'absent'}; oauth.acceptedTypes has ${config['oauth.acceptedTypes'].join(', ')}: is it an ID token?`,
  'critical-extension': () => 'its header names an extension (crit, b64) that must be understood, and none is',
  'unknown-key': (said) =>
    `the identity provider has no key ${said.keyId ?? '(the header has no kid)'} for ${said.algorithm ?? 'its algorithm'}: is it another provider's, or was the key withdrawn?`,
  signature: (said) =>
    `its signature is not that of the key ${said.keyId ?? ''}: it was changed, or made by somebody else`,
  claims: () => 'a claim is missing or malformed: exp must be a number, scopes a text or a list',
  client: (_, config) =>
    `no claim of oauth.clientIdClaims (${config['oauth.clientIdClaims'].join(', ')}) names its client`,
  issuer: (said, config) => `its issuer is ${said.issuer ?? 'absent'}; oauth.issuer is ${config['oauth.issuer'] ?? ''}`,
  audience: (said, config) =>
    `it is for ${said.audience ?? 'nobody'}; oauth.audience is ${config['oauth.audience'] ?? ''}`,
  expired: (said) => `it expired ${agoOf(said.expiresAt)}: get another one`,
  'not-yet-valid': (said) =>
    `it is valid from ${said.notBefore ?? said.issuedAt ?? 'a later time'} on: do the clocks of router and provider agree?`,
  'too-long-life': (said, config) =>
    `it lives from ${said.issuedAt ?? 'now'} to ${said.expiresAt ?? 'for ever'}; oauth.maxTokenSeconds allows ${formatSpan(config['oauth.maxTokenSeconds'] * 1_000)}`,
  'sender-constrained': () =>
    'it is bound to a key of its holder (cnf: DPoP or mutual TLS), and no proof is checked here',
  inactive: () => 'the identity provider says that it is not active: expired, revoked, or not its own',
};

function agoOf(time: string | undefined): string {
  const at = Date.parse(time ?? '');
  return Number.isNaN(at) ? '' : `${formatSpan(Math.max(0, Date.now() - at))} ago`;
}
