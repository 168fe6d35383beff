// Builds the header field `WWW-Authenticate` for bearer tokens (RFC 6750 section 3).

const realm = 'realm="service-router"';

/** The reason why a token was rejected. */
export interface ChallengeError {
  /** Error code (RFC 6750 section 3.1). */
  readonly error: 'invalid_request' | 'invalid_token' | 'insufficient_scope';
  /** A sentence without quotation marks. A final full stop is removed. */
  readonly description: string;
  /** Required scopes, separated by spaces; only with `insufficient_scope`. */
  readonly scope?: string;
}

/** Returns the header field. @param error absent for a request without credentials */
export function bearerChallenge(error?: ChallengeError): { 'www-authenticate': string } {
  if (error === undefined) return { 'www-authenticate': `Bearer ${realm}` };
  const scope = error.scope === undefined ? '' : `, scope="${error.scope}"`;
  const description = error.description.replace(/\.$/, '');
  const attributes = `${realm}, error="${error.error}", error_description="${description}"${scope}`;
  return { 'www-authenticate': `Bearer ${attributes}` };
}
