// The client address of a request: the address of its connection, or what a trusted proxy says of it.

import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6, SocketAddress } from 'node:net';
import { contextOf } from './plugin-api.ts';

/** Works out client addresses by `router.trustedProxies`. */
export class ClientAddresses {
  readonly #trustedProxies: () => readonly string[];
  #listed: readonly string[] | undefined;
  #trusted = new BlockList();

  /**
   * @param trustedProxies addresses and networks (`10.0.0.0/8`) whose `X-Forwarded-For` is believed; asked for each
   *   request, because a reload may change them
   */
  constructor(trustedProxies: () => readonly string[]) {
    this.#trustedProxies = trustedProxies;
  }

  /**
   * Reads `X-Forwarded-For` from its end and returns the last address that is not a trusted proxy's: the client may have
   * written anything in front of it. `Forwarded` (RFC 7239) is never read: a proxy that appends to the one field passes
   * the other on as the client wrote it.
   */
  of({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): string {
    let client = plain(socket.remoteAddress ?? '');
    if (!this.isTrusted(client)) return client;
    const hops = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
    for (const hop of hops.reverse()) {
      const address = plain(hop.trim());
      if (isIP(address) === 0) break;
      client = address;
      if (!this.isTrusted(address)) break;
    }
    return client;
  }

  /** Whether an address is a trusted proxy's. */
  isTrusted(address: string): boolean {
    const listed = this.#trustedProxies();
    if (listed !== this.#listed) {
      this.#trusted = blockListOf(listed);
      this.#listed = listed;
    }
    const peer = plain(address);
    return listed.length > 0 && isIP(peer) !== 0 && this.#trusted.check(peer, familyOf(peer));
  }
}

/**
 * Who sent a request: `client <OAuth client id>`, else `address <network>`. Everything that counts, queues or chooses by
 * caller uses this, so that a client has one identity everywhere.
 */
export function callerOf(request: IncomingMessage): string {
  const { clientId, clientAddress } = contextOf(request);
  return clientId === undefined ? `address ${networkOf(clientAddress)}` : `client ${clientId}`;
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

/** IPv4 as such, also where the socket shows it as IPv6. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
