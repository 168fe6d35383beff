// The error for a token that must not be accepted, with the reason, for the log and the metrics.

/** Why a token was rejected. The client learns only whether it has expired. */
export type InvalidTokenReason =
  | 'format'
  | 'size'
  | 'algorithm'
  | 'type'
  | 'critical-extension'
  | 'unknown-key'
  | 'signature'
  | 'claims'
  | 'client'
  | 'issuer'
  | 'audience'
  | 'expired'
  | 'not-yet-valid'
  | 'too-long-life'
  | 'sender-constrained'
  | 'token-type'
  | 'inactive';

/** Becomes 401 `invalid_token` (RFC 6750 section 3.1). */
export class InvalidTokenError extends Error {
  override readonly name = 'InvalidTokenError';
  readonly reason: InvalidTokenReason;

  /** @param detail for the operator: what is missing, and what to set */
  constructor(reason: InvalidTokenReason, { detail, ...options }: ErrorOptions & { detail?: string } = {}) {
    super(`the access token was refused: ${reason}${detail === undefined ? '' : ` (${detail})`}`, options);
    this.reason = reason;
  }
}
