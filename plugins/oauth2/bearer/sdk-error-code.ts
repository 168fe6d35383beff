// Adds to a 401 problem document the member `error`, by which Conductor's SDKs know that they need a new token.

import { Problem } from '#lib/problem/problem.ts';
import { InvalidTokenError } from '../access-token/invalid-token-error.ts';

/**
 * Returns a 401 problem with the member `error`: `EXPIRED_TOKEN` for an expired token, otherwise `INVALID_TOKEN`.
 * Returns anything else unchanged. Without the member, the SDKs for Java, JavaScript, Python and Ruby keep the token
 * they have, and the SDK for C# fails to read the response (docs/reference/workers.md lists what each SDK looks for).
 */
export function withSdkErrorCode(problem: unknown): unknown {
  if (!(problem instanceof Problem) || problem.status !== 401) return problem;
  const { cause } = problem;
  const isExpired = cause instanceof InvalidTokenError && cause.reason === 'expired';
  return problem.with({ extensions: { error: isExpired ? 'EXPIRED_TOKEN' : 'INVALID_TOKEN' } });
}
