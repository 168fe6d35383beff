// The client address of a request: the peer address of its connection, or the address that a trusted proxy reports.

import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6, SocketAddress } from 'node:net';
import { contextOf } from './request-context.ts';

/** Determines the client addresses of requests, taking `router.trustedProxies` into account. */
export class ClientAddresses {
  readonly #trustedProxies: () => readonly string[];
  #listed: readonly string[] | undefined;
  #trusted = new BlockList();

  /**
   * @param trustedProxies returns the addresses and networks (`10.0.0.0/8`) whose `X-Forwarded-For` is trusted; called
   *   for each request, because a reload may change them
   */
  constructor(trustedProxies: () => readonly string[]) {
    this.#trustedProxies = trustedProxies;
  }

  /**
   * Returns the peer address, unless the peer is a trusted proxy. For a trusted proxy, returns the last address in
   * `X-Forwarded-For` that is not a trusted proxy itself: the client may have forged all entries before that address.
   * `Forwarded` (RFC 7239) is ignored: a proxy that adds an address to `X-Forwarded-For` forwards `Forwarded`
   * unchanged, so the client may have forged it.
   */
  of({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): string {
    let client = unmapped(socket.remoteAddress ?? '');
    if (!this.isTrusted(client)) return client;
    const hops = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
    for (const hop of hops.reverse()) {
      const address = unmapped(withoutPort(hop.trim()));
      if (isIP(address) === 0) break;
      client = address;
      if (!this.isTrusted(address)) break;
    }
    return client;
  }

  /** Returns true for the address of a trusted proxy. */
  isTrusted(address: string): boolean {
    const listed = this.#trustedProxies();
    if (listed !== this.#listed) {
      this.#trusted = blockListOf(listed);
      this.#listed = listed;
    }
    const peer = unmapped(address);
    return listed.length > 0 && isIP(peer) !== 0 && this.#trusted.check(peer, familyOf(peer));
  }
}

/**
 * Returns the caller identity of a request: `client <OAuth client id>`, or `address <network>` without a token. All
 * limits and queues use it, so that a client has one identity everywhere; version splits use it for requests without a
 * token.
 */
export function callerOf(request: IncomingMessage): string {
  const { clientId, clientAddress } = contextOf(request);
  return clientId === undefined ? `address ${networkOf(clientAddress)}` : `client ${clientId}`;
}

/**
 * Returns the network that counts as one caller: the IPv4 address, or the /64 prefix of an IPv6 address, because the
 * owner of the prefix may use any of its addresses.
 * @returns for IPv6, the first four groups, each in its shortest form, such as `2001:db8:0:1`
 */
export function networkOf(address: string): string {
  const caller = unmapped(address);
  if (!isIPv6(caller)) return caller;
  const shortest = new SocketAddress({ address: caller, family: 'ipv6' }).address;
  const [head = [], tail = []] = shortest.split('::').map((part) => part.split(':').filter(Boolean));
  return [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail].slice(0, 4).join(':');
}

function blockListOf(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/');
    if (prefix === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return list;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}

/** Removes the port and the brackets that some proxies add: `192.0.2.1:50123`, `[2001:db8::1]:50123`. */
function withoutPort(hop: string): string {
  return hop.replace(/^(?:([\d.]+):\d+|\[(.+)\](?::\d+)?)$/, '$1$2');
}

/** Converts an IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) to IPv4. */
function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
