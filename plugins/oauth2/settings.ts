// Reads the `oauth.*` keys and applies the checks that the schema cannot express. Reports all mistakes at once.

import type { Config } from '#lib/config/schema.ts';
import type { ClaimRules } from './access-token/claims.ts';
import type { IntrospectionOptions } from './access-token/introspection.ts';
import { type HeaderRules, normalizeType } from './access-token/jwt-header.ts';
import { type Algorithm, supportedAlgorithms } from './provider/key-set.ts';

/** The `oauth.*` keys that this plugin checks beyond the schema of the configuration. */
export interface OAuth2Settings {
  readonly issuer: string;
  /** Rules that every access token must satisfy. */
  readonly rules: HeaderRules & ClaimRules;
  /** Undefined when opaque tokens are not accepted. */
  readonly introspection:
    | Pick<IntrospectionOptions, 'url' | 'clientId' | 'clientSecret' | 'requiresAudience' | 'requiresTokenType'>
    | undefined;
}

/**
 * Reads and checks the settings of the whole plugin.
 * @throws Error that lists every invalid setting
 */
export function readSettings(config: Config): OAuth2Settings {
  const problems: string[] = [];
  const issuer = config['oauth.issuer'] ?? '';
  if (issuer === '') problems.push('oauth.issuer is not set: set it in a property file or as OAUTH_ISSUER');
  const algorithms = readAlgorithms(config['oauth.algorithms'], problems);
  const introspection = readIntrospection(config, problems);
  const types = readTypes(config, problems);
  const clientIdClaims = readClientIdClaims(config['oauth.clientIdClaims'], problems);
  if (problems.length > 0) throw new Error(problems.join('; '));
  const rules = {
    algorithms,
    types,
    issuer,
    audience: config['oauth.audience'],
    clientIdClaims,
    scopeClaims: config['oauth.scopeClaims'],
    clockToleranceSeconds: config['oauth.clockToleranceSeconds'],
    maxTokenSeconds: config['oauth.maxTokenSeconds'],
  };
  return { issuer, rules, introspection };
}

/** Reads the accepted algorithms. `none` and HMAC are not supported, so no configuration can accept them. */
function readAlgorithms(names: readonly string[], problems: string[]): ReadonlySet<Algorithm> {
  const algorithms = supportedAlgorithms.filter((algorithm) => names.includes(algorithm));
  const unknown = names.filter((name) => !(supportedAlgorithms as readonly string[]).includes(name));
  if (unknown.length > 0) {
    problems.push(
      `oauth.algorithms has unsupported values: ${unknown.join(', ')} (supported: ${supportedAlgorithms.join(', ')})`,
    );
  } else if (algorithms.length === 0) problems.push('oauth.algorithms is empty, so no token could be accepted');
  return new Set(algorithms);
}

/**
 * Reads the accepted token types. When access tokens have the same type as ID tokens, only the audience distinguishes
 * an access token from an ID token (RFC 8725 section 3.12).
 */
function readTypes(config: Config, problems: string[]): ReadonlySet<string> {
  const types = new Set(config['oauth.acceptedTypes'].map(normalizeType));
  const isStrict = [...types].every((type) => type === 'at+jwt');
  if (!isStrict && config['oauth.audience'] === undefined) {
    problems.push(
      'oauth.acceptedTypes lists types other than at+jwt: set oauth.audience, otherwise ID tokens would be accepted',
    );
  }
  return types;
}

/**
 * Reads the claims that name the client. Limits, idempotency keys and executions belong to clients, so a user's subject
 * must never count as a client id.
 */
function readClientIdClaims(names: readonly string[], problems: string[]): readonly string[] {
  if (names.length === 0) problems.push('oauth.clientIdClaims is empty, so no token could be accepted');
  if (names.length > 1 && names.includes('sub')) {
    problems.push(
      'oauth.clientIdClaims has sub and other claims, so a user could be taken for a client: remove sub, or use it alone if the provider issues no tokens to users',
    );
  }
  return names;
}

function readIntrospection(config: Config, problems: string[]): OAuth2Settings['introspection'] {
  const { 'oauth.introspectionURL': url, 'oauth.introspectionClientId': clientId } = config;
  const clientSecret = config['oauth.introspectionClientSecret'];
  if (url === undefined) return undefined;
  if (clientId === undefined) problems.push('oauth.introspectionURL needs oauth.introspectionClientId');
  if (clientSecret === undefined) problems.push('oauth.introspectionURL needs oauth.introspectionClientSecret');
  const requiresAudience = config['oauth.introspectionRequiresAudience'];
  const requiresTokenType = config['oauth.introspectionRequiresTokenType'];
  return { url, clientId: clientId ?? '', clientSecret: clientSecret ?? '', requiresAudience, requiresTokenType };
}
