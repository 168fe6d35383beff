// The problems of the bearer policy, each with its challenge (RFC 6750 section 3).

import { bearerChallenge } from '#lib/problem/bearer-challenge.ts';
import { Problem } from '#lib/problem/problem.ts';
import { InvalidTokenError } from '../access-token/invalid-token-error.ts';
import { ProviderError } from '../provider/provider-error.ts';
import { type MissingScopes, wordsOf } from './required-scopes.ts';

/** Retry time in seconds while the identity provider is unavailable. */
const retryAfterSeconds = '5';

/** Returns 401 without an error code: the request has no credentials (RFC 6750 section 3.1). */
export function credentialsMissing(): Problem {
  return new Problem('unauthorized', { headers: bearerChallenge() });
}

/** Returns 400 `invalid_request`: the credentials are malformed or repeated. */
export function credentialsMalformed(detail: string): Problem {
  return new Problem('malformed-request', {
    detail,
    headers: bearerChallenge({ error: 'invalid_request', description: detail }),
  });
}

/** Returns 403 `insufficient_scope`. */
export function scopeMissing(missing: MissingScopes): Problem {
  const { scopes, oneSuffices } = missing;
  const description = oneSuffices ? 'One of these scopes is required' : 'A required scope is missing';
  const headers = bearerChallenge({ error: 'insufficient_scope', description, scope: scopes.join(' ') });
  return new Problem('insufficient-scope', { detail: `Required: ${wordsOf(missing)}`, headers });
}

/** Converts an error from a token check to a problem; returns other errors unchanged. */
export function toBearerProblem(error: unknown): unknown {
  if (error instanceof InvalidTokenError) return invalidToken(error);
  if (error instanceof ProviderError) {
    return new Problem('identity-provider-unavailable', {
      detail: 'The access token cannot be checked now.',
      headers: { 'retry-after': retryAfterSeconds },
      cause: error,
    });
  }
  return error;
}

/**
 * Returns 401 `invalid_token`. Expiry is the only reason that the client learns; other reasons go only into the log.
 */
function invalidToken(error: InvalidTokenError): Problem {
  const detail = error.reason === 'expired' ? 'The access token has expired.' : 'The access token is not valid.';
  return new Problem('invalid-token', {
    detail,
    headers: bearerChallenge({ error: 'invalid_token', description: detail }),
    cause: error,
  });
}
