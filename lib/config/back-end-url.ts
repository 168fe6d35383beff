// What may be configured as the base URL of a back end.

/**
 * Says what keeps a URL from being the base of a back end, or null when nothing does.
 * @returns a sentence without the URL itself, which may hold a password
 */
export function problemOfBackEndUrl(value: string): string | null {
  const { protocol, username, password, search, hash } = URL.parse(value) ?? {};
  if (protocol !== 'http:' && protocol !== 'https:') return 'must be a URL with http or https';
  if (username !== '' || password !== '') return 'carries credentials: back ends are called without any';
  if (search !== '' || hash !== '') return 'carries a query or a fragment: give the base only';
  return null;
}
