// A startup check that detects a publicly reachable Conductor server. Conductor has no authentication of its own.

import { lookup } from 'node:dns/promises';
import { connect, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isLoopback, isPrivateHost } from '#lib/config/private-host.ts';
import { withoutPassword } from '#lib/config/without-password.ts';

/** Options of {@link findOpenEngine}. */
export interface OpenEngineOptions {
  /** The engine's base URL, as the router uses it. */
  url: string;
  /** Non-loopback addresses of this machine; default: the addresses of its network interfaces. */
  ownAddresses?: readonly string[];
  /** Resolves a host name to addresses; default: the system's resolver. */
  resolve?: (name: string) => Promise<readonly string[]>;
  /** Timeout of each connection attempt, in milliseconds; default 1,000. */
  timeoutMs?: number;
}

/**
 * Returns one message for each finding. Two kinds of exposure are detected: the engine's host name resolves to a public
 * address; or the router uses the loopback address, but the engine also accepts connections on other addresses of this
 * machine (Conductor listens on 0.0.0.0 by default). The second kind is detected only while the engine is running.
 */
export async function findOpenEngine(options: OpenEngineOptions): Promise<string[]> {
  const { url, ownAddresses = otherAddresses(), resolve = resolveName, timeoutMs = 1_000 } = options;
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) === 0 ? await resolve(host).catch(() => []) : [host];
  const open = isIP(host) === 0 ? addresses.filter((address) => !isPrivateHost(address)) : [];
  if (open.length > 0)
    return [
      `conductor.url is ${withoutPassword(url)}: ${host} has the public address ${open.join(', ')}, but the engine has no authentication, so its address must be private`,
    ];
  if (!addresses.some(isLoopback)) return [];
  const enginePort = Number(port) || (protocol === 'https:' ? 443 : 80);
  const reachable = await Promise.all(
    ownAddresses.map(async (address) => ((await accepts(address, enginePort, timeoutMs)) ? [address] : [])),
  );
  return reachable
    .flat()
    .map(
      (address) =>
        `the engine at conductor.url listens on ${address} as well: bind it to the loopback address (server.address=127.0.0.1)`,
    );
}

function otherAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
    .map(({ address }) => address);
}

async function resolveName(name: string): Promise<string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

/** Resolves to true when a TCP connection to the address succeeds within the timeout. */
function accepts(host: string, port: number, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const finish = (open: boolean) => {
      socket.destroy();
      resolve(open);
    };
    socket.once('connect', () => finish(true));
    socket.once('error', () => finish(false));
    socket.once('timeout', () => finish(false));
  });
}
