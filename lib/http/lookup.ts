// Resolves host names for connections, so that names that are slow to resolve do not hold up others.

import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { promisify } from 'node:util';

/** Resolves a name to all of its addresses. */
export type Resolve = (hostname: string, options: LookupOptions & { all: true }) => Promise<LookupAddress[]>;

/** Time after which a lookup counts as slow, in milliseconds. */
const slowMs = 300;
/** How long addresses may replace those of a slow or failing lookup, in milliseconds. */
const keptMs = 600_000;

interface Found {
  readonly addresses: LookupAddress[];
  readonly at: number;
}

/**
 * Creates a `lookup` for sockets. Node runs only two lookups at a time (`getaddrinfo` in libuv's thread pool), so the name
 * of a server that is gone could occupy both for seconds. Here, the concurrent lookups of a name share one, and while it
 * is slow or fails temporarily (`EAI_AGAIN`), connections use the addresses that were found last, at most ten minutes ago.
 */
export function createLookup(resolve: Resolve = promisify(systemLookup)): LookupFunction {
  const pending = new Map<string, Promise<LookupAddress[]>>();
  const found = new Map<string, Found>();

  const resolveOnce = (key: string, hostname: string, options: LookupOptions) => {
    const running = pending.get(key);
    if (running !== undefined) return running;
    const started = resolve(hostname, { ...options, all: true })
      .then((addresses) => {
        found.set(key, { addresses, at: performance.now() });
        return addresses;
      })
      .catch((error: unknown) => {
        if (!isTemporary(error)) found.delete(key);
        throw error;
      })
      .finally(() => pending.delete(key));
    pending.set(key, started);
    return started;
  };

  const addressesOf = async (hostname: string, options: LookupOptions): Promise<LookupAddress[]> => {
    const key = `${hostname} ${options.family ?? 0} ${options.hints ?? 0}`;
    const known = found.get(key);
    const fresh = resolveOnce(key, hostname, options);
    if (known === undefined || performance.now() - known.at > keptMs) return fresh;
    const { promise: late, resolve: giveUp } = Promise.withResolvers<LookupAddress[]>();
    const timer = setTimeout(giveUp, slowMs, known.addresses);
    const lasting = fresh.catch((error: unknown) => {
      if (isTemporary(error)) return known.addresses;
      throw error;
    });
    return Promise.race([lasting, late]).finally(() => clearTimeout(timer));
  };

  return (hostname, options, callback) => {
    addressesOf(hostname, options).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all === true) callback(null, addresses);
        else callback(null, first?.address ?? '', first?.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
}

function isTemporary(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EAI_AGAIN';
}

/** The lookup of all connections of this process. */
export const lookup = createLookup();
