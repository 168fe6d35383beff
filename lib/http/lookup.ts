// Resolves host names for connections, so that a name that resolves slowly does not delay others.

import type { LookupAddress, LookupOptions } from 'node:dns';
import { lookup as systemLookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** Resolves a name to all of its addresses. */
export type Resolve = (hostname: string, options: LookupOptions & { all: true }) => Promise<LookupAddress[]>;

/** Time after which a lookup counts as slow, in milliseconds. */
const slowMs = 300;
/** Maximum age of earlier addresses that may replace the result of a slow or failing lookup, in milliseconds. */
const keptMs = 600_000;

interface Pending {
  readonly addresses: Promise<LookupAddress[]>;
  /** Start of the lookup (performance.now()). */
  readonly since: number;
}

interface Found {
  readonly addresses: LookupAddress[];
  readonly at: number;
}

/**
 * Creates a `lookup` for sockets. Node runs only two lookups at a time (`getaddrinfo` in libuv's thread pool), so
 * lookups for a server that no longer exists could block all others for seconds. Here, concurrent lookups of a name
 * share one call. While that call is slow or fails temporarily (`EAI_AGAIN`), connections use the last known addresses,
 * at most ten minutes old.
 */
export function createLookup(resolve: Resolve = systemLookup): LookupFunction {
  const pending = new Map<string, Pending>();
  const found = new Map<string, Found>();

  const resolveOnce = (key: string, hostname: string, options: LookupOptions): Pending => {
    const running = pending.get(key);
    if (running !== undefined) return running;
    const addresses = resolve(hostname, { ...options, all: true })
      .then((resolved) => {
        found.set(key, { addresses: resolved, at: performance.now() });
        return resolved;
      })
      .catch((error: unknown) => {
        if (!isTemporary(error)) found.delete(key);
        throw error;
      })
      .finally(() => pending.delete(key));
    const started = { addresses, since: performance.now() };
    pending.set(key, started);
    return started;
  };

  const addressesOf = async (hostname: string, options: LookupOptions): Promise<LookupAddress[]> => {
    const key = `${hostname} ${options.family ?? 0} ${options.hints ?? 0}`;
    const known = found.get(key);
    const { addresses, since } = resolveOnce(key, hostname, options);
    if (known === undefined || performance.now() - known.at > keptMs) return addresses;
    const fresh = addresses.catch((error: unknown) => {
      if (isTemporary(error)) return known.addresses;
      throw error;
    });
    const restMs = Math.max(0, since + slowMs - performance.now());
    return Promise.race([fresh, pause(restMs, known.addresses, { ref: false })]);
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
