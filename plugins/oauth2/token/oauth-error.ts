// The errors of the token endpoint (RFC 6749 section 5.2). Descriptions are the router's own, never the provider's.

/** Status and default description of each error code. */
export const oauthErrors = {
  invalid_request: { status: 400, description: 'The token request is malformed' },
  invalid_client: { status: 401, description: 'Client authentication failed' },
  invalid_grant: { status: 400, description: 'The grant is not valid' },
  unauthorized_client: { status: 400, description: 'The client may not use this grant' },
  unsupported_grant_type: { status: 400, description: 'Only client_credentials is supported' },
  invalid_scope: { status: 400, description: 'The requested scope is not valid' },
} as const satisfies Record<string, { status: number; description: string }>;

/** An error code of RFC 6749 section 5.2. */
export type OAuthErrorCode = keyof typeof oauthErrors;

/** A token request that is rejected with an error code of RFC 6749 section 5.2. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: OAuthErrorCode;

  /** @param description replaces the default one: printable ASCII without `"` and `\` (RFC 6749 appendix A.8) */
  constructor(code: OAuthErrorCode, description: string = oauthErrors[code].description) {
    super(description);
    this.code = code;
  }

  /** HTTP status of the response (RFC 6749 section 5.2): 401 for `invalid_client`, else 400. */
  get status(): number {
    return oauthErrors[this.code].status;
  }
}

/** Returns whether RFC 6749 section 5.2 defines a code. */
export function isOAuthErrorCode(code: unknown): code is OAuthErrorCode {
  return typeof code === 'string' && Object.hasOwn(oauthErrors, code);
}
