// Checks `Host` and `Sec-Fetch-Site`, to protect the operations port from web pages of other origins.

import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

/**
 * Creates the `Host` check. In a DNS rebinding attack, the host name of a web page resolves to this machine, and the
 * browser sends that name as `Host`. Therefore, only IP addresses, `localhost` and the given names pass. A request
 * without `Host` (HTTP/1.0) passes, because browsers always send `Host`.
 * @param names host names without a port, upper or lower case
 */
export function createHostCheck(names: readonly string[]): (request: Pick<IncomingMessage, 'headers'>) => boolean {
  const known = new Set(['localhost', ...names.map(normalise)]);
  return function isOwnHost({ headers: { host } }) {
    if (host === undefined) return true;
    const [, literal, name = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
    return literal === undefined ? isIP(name) === 4 || known.has(normalise(name)) : isIP(literal) === 6;
  };
}

/** Host names are case-insensitive and may end with the root dot (RFC 9110 section 4.2.3, RFC 3986 section 3.2.2). */
function normalise(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/**
 * Returns true for a request that comes from a page of another origin, unless the user followed a link. The page could
 * not read the response, but it could make this port search the engine. The header fields of Fetch Metadata show where
 * a request comes from; only browsers send them.
 */
export function isForeignSubrequest({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const isForeign = ['cross-site', 'same-site'].includes(String(headers['sec-fetch-site']));
  return isForeign && headers['sec-fetch-dest'] !== 'document';
}
