// Takes the access token out of a request's header fields (RFC 6750 section 2.1). Query and body are not read.

import type { IncomingMessage } from 'node:http';
import { takeHeader } from '../take-header.ts';
import { credentialsMalformed, credentialsMissing } from './challenge.ts';

const authorization = 'authorization';
/**
 * The header field in which Conductor's SDKs send the token. The policy removes it and `Authorization` from each
 * request, even when the route does not accept `X-Authorization`.
 */
const alternative = 'x-authorization';

/**
 * Returns the token and removes it from the request.
 * @param acceptsAlternative whether `X-Authorization` is accepted too, with or without `Bearer`, as Conductor's SDKs
 *   send it
 * @throws Problem 401 when the request has no bearer token, 400 when the credentials are malformed or repeated
 */
export function takeBearerToken(request: IncomingMessage, acceptsAlternative: boolean): string {
  const standard = takeHeader(request, authorization);
  const other = takeHeader(request, alternative);
  const given = acceptsAlternative ? [...standard, ...other] : standard;
  const [value] = given;
  if (value === undefined) throw credentialsMissing();
  if (given.length > 1) throw credentialsMalformed('More than one access token was presented.');
  return standard.length === 1 ? afterScheme(value) : afterOptionalScheme(value);
}

/**
 * Returns the text after `Bearer ` in `Authorization`, without removing or validating it; undefined when the field has
 * another form or `X-Authorization` is present.
 */
export function plainBearerToken({ headers }: IncomingMessage): string | undefined {
  const { authorization: value = '', [alternative]: other } = headers;
  if (other !== undefined || !value.startsWith('Bearer ')) return undefined;
  return value.slice('Bearer '.length);
}

function afterScheme(value: string): string {
  const [scheme, ...rest] = value.split(' ');
  if (scheme?.toLowerCase() !== 'bearer') throw credentialsMissing();
  return single(rest);
}

function afterOptionalScheme(value: string): string {
  const words = value.split(' ');
  return single(words[0]?.toLowerCase() === 'bearer' ? words.slice(1) : words);
}

/** Returns the token. One or more spaces may precede it (RFC 9110 section 11.4); nothing may follow it. */
function single(words: readonly string[]): string {
  const [token, ...further] = words.filter((word) => word !== '');
  if (token === undefined || further.length > 0) throw credentialsMalformed('The credentials are malformed.');
  return token;
}
