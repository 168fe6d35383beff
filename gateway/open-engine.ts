// Looks whether the engine can be reached where it must not be: it has no authentication of its own.

import { lookup } from 'node:dns/promises';
import { connect, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isLoopback, isPrivateHost } from '#lib/config/private-host.ts';

export interface OpenEngineOptions {
  /** The engine's base URL, as the router uses it. */
  url: string;
  /** Addresses of this machine that others can reach; default: those of its interfaces. */
  ownAddresses?: readonly string[];
  /** Addresses of a name; default: the resolver's. */
  resolve?: (name: string) => Promise<readonly string[]>;
  /** Longest look at one address, in milliseconds. */
  timeoutMs?: number;
}

/**
 * Why the engine is open; none when it is not, or when nothing answers yet. Two ways are known: its name leads to a
 * public address, or it is used through the loopback address but listens on the machine's others as well (its own
 * default is 0.0.0.0).
 */
export async function findOpenEngine(options: OpenEngineOptions): Promise<string[]> {
  const { url, ownAddresses = otherAddresses(), resolve = resolveName, timeoutMs = 1_000 } = options;
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) === 0 ? await resolve(host).catch(() => []) : [host];
  const open = isIP(host) === 0 ? addresses.filter((address) => !isPrivateHost(address)) : [];
  if (open.length > 0) return [`conductor.url is ${url}: ${host} has the public address ${open.join(', ')}`];
  if (!addresses.some(isLoopback)) return [];
  const enginePort = Number(port) || (protocol === 'https:' ? 443 : 80);
  const answers = await Promise.all(
    ownAddresses.map(async (address) => ((await accepts(address, enginePort, timeoutMs)) ? [address] : [])),
  );
  return answers
    .flat()
    .map(
      (address) =>
        `the engine of conductor.url listens on ${address} as well: bind it to the loopback address (server.address=127.0.0.1)`,
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

/** Whether something takes connections there. */
function accepts(host: string, port: number, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const settle = (open: boolean) => {
      socket.destroy();
      resolve(open);
    };
    socket.once('connect', () => settle(true));
    socket.once('error', () => settle(false));
    socket.once('timeout', () => settle(false));
  });
}
