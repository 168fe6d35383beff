// The address a request came from: that of the connection, or what a trusted proxy says of it.

import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6, SocketAddress } from 'node:net';

/** Tells the address of a request's client. */
export type ClientAddress = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string;

/**
 * @param trustedProxies addresses and networks (`10.0.0.0/8`) whose `X-Forwarded-For` is believed
 * @returns reads `X-Forwarded-For` from its end: the last address that no trusted proxy has. What stands before it
 *   came from the client, which may write anything.
 * @throws Error for an entry that is neither
 */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  const trusted = new BlockList();
  for (const entry of trustedProxies) {
    const [address = '', prefix] = entry.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) trusted.addAddress(address, family);
    else trusted.addSubnet(address, Number(prefix), family);
  }
  const isTrusted = (address: string) => trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  return function clientAddress({ headers, socket }) {
    let client = plain(socket.remoteAddress ?? '');
    if (trustedProxies.length === 0 || client === '' || !isTrusted(client)) return client;
    const hops = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
    for (const hop of hops.reverse()) {
      const address = plain(hop.trim());
      if (isIP(address) === 0) break;
      client = address;
      if (!isTrusted(address)) break;
    }
    return client;
  };
}

/**
 * What counts as one caller: an IPv4 address, or the /64 of an IPv6 address, of which its owner may use any.
 * @returns the first four groups of an IPv6 address, each in its shortest form, such as `2001:db8:0:1`
 */
export function networkOf(address: string): string {
  const caller = plain(address);
  if (!isIPv6(caller)) return caller;
  const shortest = new SocketAddress({ address: caller, family: 'ipv6' }).address;
  const [head = [], tail = []] = shortest.split('::').map((part) => part.split(':').filter(Boolean));
  return [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail].slice(0, 4).join(':');
}

/** IPv4 as such, also where the socket shows it as IPv6. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
