// `WWW-Authenticate` of answers to bearer tokens (RFC 6750 section 3).

const realm = 'realm="service-router"';

/** What was wrong with the token. */
export interface ChallengeError {
  /** One of the codes of section 3.1. */
  readonly error: 'invalid_request' | 'invalid_token' | 'insufficient_scope';
  /** A sentence without quotation marks; a full stop at its end is left out. */
  readonly description: string;
  /** With `insufficient_scope`: those that are needed, separated by spaces. */
  readonly scope?: string;
}

/** The header field; without an error for a request that carries no credentials at all. */
export function bearerChallenge(error?: ChallengeError): { 'www-authenticate': string } {
  if (error === undefined) return { 'www-authenticate': `Bearer ${realm}` };
  const scope = error.scope === undefined ? '' : `, scope="${error.scope}"`;
  const description = error.description.replace(/\.$/, '');
  const attributes = `${realm}, error="${error.error}", error_description="${description}"${scope}`;
  return { 'www-authenticate': `Bearer ${attributes}` };
}
