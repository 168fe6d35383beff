// The error for an identity provider that gives no usable response.

/** Kind of failure, for log and metrics; never sent to a client. */
export type ProviderFailure =
  | 'unreachable'
  | 'timeout'
  | 'cut-off'
  | 'too-large'
  | 'bad-status'
  | 'bad-answer'
  | 'wrong-issuer'
  | 'no-keys'
  | 'busy';

/** Becomes 503 `identity-provider-unavailable`. The message contains no credential. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly code: ProviderFailure;
  constructor(code: ProviderFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
