// The error for a token that must not be accepted, with the reason for log and metrics.

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
  | 'inactive';

/** Becomes 401 `invalid_token` (RFC 6750 section 3.1). */
export class InvalidTokenError extends Error {
  override readonly name = 'InvalidTokenError';
  readonly reason: InvalidTokenReason;
  constructor(reason: InvalidTokenReason, options?: ErrorOptions) {
    super(`the access token was refused: ${reason}`, options);
    this.reason = reason;
  }
}
