// Whether a request names the operations port by a host of its own: a guard against DNS rebinding.

import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

/**
 * Makes the check. A web page that has its own name resolved to this machine sends that name as `Host`: only IP
 * addresses, which no name can be mistaken for, `localhost` and listed names are let through. A request without a `Host`
 * (HTTP/1.0) is none of a browser.
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

/** Names differ neither by case nor by the dot of the root (RFC 9110 section 4.2.3, RFC 3986 section 3.2.2). */
function normalise(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
