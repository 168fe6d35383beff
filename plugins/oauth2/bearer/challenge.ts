// The answers of the bearer policy when a request may not pass: each with its challenge (RFC 6750 section 3).

import { bearerChallenge } from '#lib/problem/bearer-challenge.ts';
import { Problem } from '#lib/problem/problem.ts';
import { InvalidTokenError } from '../access-token/invalid-token-error.ts';
import { ProviderError } from '../provider/provider-error.ts';

/** Seconds after which asking again makes sense when the identity provider is away. */
const retryAfterSeconds = '5';

/** 401 without an error code: the request carries no credentials at all (RFC 6750 section 3.1). */
export function credentialsMissing(): Problem {
  return new Problem('unauthorized', { headers: bearerChallenge() });
}

/** 400 `invalid_request`: credentials that are malformed or come twice. */
export function credentialsMalformed(detail: string): Problem {
  return new Problem('malformed-request', {
    detail,
    headers: bearerChallenge({ error: 'invalid_request', description: detail }),
  });
}

/** 403 `insufficient_scope`. `scopes` is what the route asks for. */
export function scopeMissing(scopes: readonly string[]): Problem {
  const wanted = scopes.join(' ');
  const description = 'A required scope is missing';
  const headers = bearerChallenge({ error: 'insufficient_scope', description, scope: wanted });
  return new Problem('insufficient-scope', { detail: `Required: ${wanted}`, headers });
}

/** The answer to what checking a token threw; anything else is passed on as it is. */
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

/** 401 `invalid_token`. Why it was refused is for the log, but an honest client may know that its time is over. */
function invalidToken(error: InvalidTokenError): Problem {
  const detail = error.reason === 'expired' ? 'The access token has expired.' : 'The access token is not valid.';
  return new Problem('invalid-token', {
    detail,
    headers: bearerChallenge({ error: 'invalid_token', description: detail }),
    cause: error,
  });
}
