// Validates base URLs of back ends.

/**
 * Returns the problem with a back end's base URL; null when the URL is valid.
 * @returns the predicate of a sentence, without the URL, which may contain a password
 */
export function problemOfBackEndUrl(value: string): string | null {
  const { protocol, username, password, search, hash } = URL.parse(value) ?? {};
  if (protocol !== 'http:' && protocol !== 'https:') return 'must be a URL with http or https';
  if (username !== '' || password !== '') return 'contains credentials: back ends are called without credentials';
  if (search !== '' || hash !== '') return 'contains a query or a fragment: use the base URL only';
  return null;
}
