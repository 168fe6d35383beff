// Reads the client id and secret of a token request: by HTTP Basic or in the body, never both (RFC 6749 section 2.3).

import { type Form, formDecode } from './form.ts';
import { OAuthError } from './oauth-error.ts';

/** Id and secret with which a client authenticates (RFC 6749 section 2.3.1). */
export interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The characters of ids and secrets (RFC 6749 appendix A.1 and A.2). */
const visible = /^[\x20-\x7e]+$/;

/**
 * Reads the credentials. Client assertions (RFC 7523 section 2.2) are not supported.
 * @param authorization every value of the header field
 * @throws OAuthError `invalid_request` when two methods are used or `client_id` contradicts the credentials,
 *   `invalid_client` when no method or an unsupported method is used
 */
export function readClientCredentials(authorization: readonly string[], form: Form): ClientCredentials {
  if (authorization.length > 1) throw new OAuthError('invalid_request', 'The client authenticates more than once');
  const [header] = authorization;
  const credentials = header === undefined ? fromForm(form) : fromHeader(header, form);
  const { clientId, clientSecret } = credentials;
  if (!visible.test(clientId) || !visible.test(clientSecret)) throw new OAuthError('invalid_client');
  return credentials;
}

function fromForm(form: Form): ClientCredentials {
  const clientId = form.get('client_id');
  const clientSecret = form.get('client_secret');
  if (clientId === undefined || clientSecret === undefined || form.has('client_assertion')) {
    throw new OAuthError('invalid_client');
  }
  return { clientId, clientSecret };
}

function fromHeader(header: string, form: Form): ClientCredentials {
  if (form.has('client_secret') || form.has('client_assertion')) {
    throw new OAuthError('invalid_request', 'The client authenticates more than once');
  }
  const credentials = parseBasic(header);
  const claimed = form.get('client_id');
  if (claimed !== undefined && claimed !== credentials.clientId) {
    throw new OAuthError('invalid_request', 'client_id does not match the client id in Authorization');
  }
  return credentials;
}

/**
 * Parses HTTP Basic credentials.
 * @throws OAuthError `invalid_client` for another scheme or an invalid value (RFC 7617 section 2)
 */
function parseBasic(header: string): ClientCredentials {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header)?.[1];
  if (encoded === undefined) throw new OAuthError('invalid_client');
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon === -1) throw new OAuthError('invalid_client');
  try {
    return { clientId: formDecode(text.slice(0, colon)), clientSecret: formDecode(text.slice(colon + 1)) };
  } catch {
    throw new OAuthError('invalid_client');
  }
}
