// Configuration keys of the identity provider (plugins/oauth2).

import { Type } from '#lib/json/json-schema.ts';
import { list, milliseconds, seconds, secret, text, url, withDefault } from './key-types.ts';

/** The `oauth.…` keys: the identity provider, and which access tokens are accepted. */
export const oauth = {
  'oauth.issuer': url('`iss` of every access token; keys and endpoints are discovered from it'),
  'oauth.audience': text('`aud` of every access token; not checked when absent'),
  'oauth.jwksURL': url("the identity provider's key set; default: discovered from the issuer"),
  'oauth.tokenURL': url("the identity provider's token endpoint; default: discovered from the issuer"),
  'oauth.tokenResource': text('`resource` (RFC 8707) of every token request; not sent when absent'),
  'oauth.tokenAudience': text('`audience` of every token request, which some providers require; not sent when absent'),
  'oauth.tokenScope': text(
    '`scope` of token requests that name none, for providers that require a scope; not sent when absent',
  ),
  'oauth.introspectionURL': url('token introspection (RFC 7662) for opaque tokens; off when absent'),
  'oauth.introspectionClientId': text('OAuth client of the router for introspection'),
  'oauth.introspectionClientSecret': secret('secret of `oauth.introspectionClientId`'),
  'oauth.introspectionRequiresAudience': withDefault(
    Type.Boolean({
      description:
        'when `oauth.audience` is set, rejects opaque tokens whose introspection response has no `aud`; set `false` for a provider that returns no `aud`',
    }),
    true,
  ),
  'oauth.introspectionRequiresTokenType': withDefault(
    Type.Boolean({
      description:
        'rejects opaque tokens whose introspection response has no `token_type`; set `false` only for a provider that returns no `token_type`, and that either issues no refresh tokens or returns `token_use`',
    }),
    true,
  ),
  'oauth.algorithms': list('accepted signature algorithms (RFC 7518 names; asymmetric only)', [
    'RS256',
    'PS256',
    'ES256',
  ]),
  'oauth.acceptedTypes': list(
    'accepted `typ` headers of access tokens (RFC 9068); `absent` accepts tokens without `typ`; any value other than `at+jwt` requires `oauth.audience`',
    ['at+jwt'],
  ),
  'oauth.clientIdClaims': list('claims that may contain the client id; the first one that exists counts', [
    'client_id',
    'azp',
  ]),
  'oauth.scopeClaims': list('claims that may contain the scopes; the first one that exists counts', [
    'scope',
    'scp',
    'scopes',
  ]),
  'oauth.maxTokenSeconds': seconds('longest accepted lifetime of an access token', 86_400),
  'oauth.clockToleranceSeconds': seconds('leeway for `exp`, `nbf` and `iat`', 5),
  'oauth.jwksCacheSeconds': withDefault(
    Type.Integer({
      minimum: 0,
      maximum: 43_200,
      description: 'how long keys are used before they are fetched again; keys older than 24 h are not used (seconds)',
    }),
    300,
  ),
  'oauth.timeoutMs': milliseconds('deadline of one call to the identity provider', 5_000),
};
