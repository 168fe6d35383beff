// Determines whether a host is private: this machine, or a host in a private network or a container network.

import { BlockList, isIP } from 'node:net';

const privateNetworks = new BlockList();
// RFC 1122 and RFC 4291 (loopback), RFC 1918, RFC 3927 and RFC 4291 (link-local), RFC 6598, RFC 4193.
for (const [network, prefix] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
  ['100.64.0.0', 10],
] as const) {
  privateNetworks.addSubnet(network, prefix, 'ipv4');
}
privateNetworks.addAddress('::1', 'ipv6');
privateNetworks.addSubnet('fe80::', 10, 'ipv6');
privateNetworks.addSubnet('fc00::', 7, 'ipv6');

/**
 * Matches names outside the public DNS: names without a dot, and reserved names (RFC 6761, RFC 6762, RFC 9476 and
 * `.internal`).
 */
const privateName = /^[^.]+$|(?:^|\.)(?:localhost|local|internal)\.?$/i;

/**
 * Returns true for a private host.
 * @param host IP address (IPv6 also in brackets) or name. Names are classified by their form and not resolved.
 */
export function isPrivateHost(host: string): boolean {
  const literal = host.replace(/^\[|\]$/g, '');
  const family = isIP(literal);
  if (family === 0) return privateName.test(host);
  return privateNetworks.check(literal, family === 6 ? 'ipv6' : 'ipv4');
}

/** Returns true for a loopback address (RFC 1122, RFC 4291). */
export function isLoopback(address: string): boolean {
  return address === '::1' || /^127\./.test(address);
}
