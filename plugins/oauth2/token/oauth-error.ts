// The errors of the token endpoint, in the words of RFC 6749 section 5.2. Every sentence is ours, none the provider's.

/** Error code → status and description of the answer. */
export const oauthErrors = {
  invalid_request: { status: 400, description: 'The token request is malformed' },
  invalid_client: { status: 401, description: 'Client authentication failed' },
  invalid_grant: { status: 400, description: 'The grant is not valid' },
  unauthorized_client: { status: 400, description: 'The client may not use this grant' },
  unsupported_grant_type: { status: 400, description: 'Only client_credentials is supported' },
  invalid_scope: { status: 400, description: 'The requested scope is not valid' },
} as const satisfies Record<string, { status: number; description: string }>;

export type OAuthErrorCode = keyof typeof oauthErrors;

/** A token request that was refused. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: OAuthErrorCode;

  /** @param description replaces the usual one: printable ASCII without `"` and `\` (RFC 6749 appendix A.8) */
  constructor(code: OAuthErrorCode, description: string = oauthErrors[code].description) {
    super(description);
    this.code = code;
  }

  get status(): number {
    return oauthErrors[this.code].status;
  }
}

/** Whether a code is one that RFC 6749 section 5.2 names. */
export function isOAuthErrorCode(code: unknown): code is OAuthErrorCode {
  return typeof code === 'string' && Object.hasOwn(oauthErrors, code);
}
