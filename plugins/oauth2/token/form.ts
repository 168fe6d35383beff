// Parses application/x-www-form-urlencoded strictly: ambiguous input is rejected.

import { OAuthError } from './oauth-error.ts';

/** Parameters by name. Parameters without a value are omitted, as if they had not been sent (RFC 6749 section 3.2). */
export type Form = ReadonlyMap<string, string>;

const malformed = 'The body is not valid application/x-www-form-urlencoded';

/**
 * Parses a body.
 * @throws OAuthError `invalid_request` for invalid encoding, invalid UTF-8 or a repeated parameter
 */
export function parseForm(body: Buffer): Form {
  const form = new Map<string, string>();
  const seen = new Set<string>();
  for (const pair of toText(body).split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = formDecode(equals === -1 ? pair : pair.slice(0, equals));
    const value = equals === -1 ? '' : formDecode(pair.slice(equals + 1));
    if (seen.has(name)) throw new OAuthError('invalid_request', 'A parameter is repeated');
    seen.add(name);
    if (value !== '') form.set(name, value);
  }
  return form;
}

/**
 * Decodes one form-encoded name or value.
 * @throws OAuthError `invalid_request`
 */
export function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new OAuthError('invalid_request', malformed);
  }
}

function toText(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new OAuthError('invalid_request', malformed);
  }
}
