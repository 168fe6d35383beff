// Opaque tokens in memory, for as long as they live. JWT access tokens are never stored: they survive a restart.

import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';

interface Entry {
  readonly payload: AdapterPayload;
  readonly expiresAtMs: number;
}

/** Above this many tokens, each new one makes room by dropping the expired ones. */
const sweepAbove = 1000;

/** One store for all models of a provider; it outlives the provider objects of key rotations. */
export function createTokenStore(): AdapterFactory {
  const entries = new Map<string, Entry>();
  return (model) => createAdapter(model, entries);
}

function createAdapter(model: string, entries: Map<string, Entry>): Adapter {
  const keyOf = (id: string) => `${model}:${id}`;
  return {
    async upsert(id, payload, expiresIn = Number.POSITIVE_INFINITY) {
      if (entries.size >= sweepAbove) dropExpired(entries);
      entries.set(keyOf(id), { payload, expiresAtMs: Date.now() + expiresIn * 1000 });
    },
    async find(id) {
      const entry = entries.get(keyOf(id));
      return entry !== undefined && entry.expiresAtMs > Date.now() ? entry.payload : undefined;
    },
    async destroy(id) {
      entries.delete(keyOf(id));
    },
    // The rest belongs to grants with a user, which this provider does not have.
    findByUid: async () => undefined,
    findByUserCode: async () => undefined,
    consume: async () => undefined,
    revokeByGrantId: async () => undefined,
  };
}

function dropExpired(entries: Map<string, Entry>): void {
  const now = Date.now();
  for (const [key, entry] of entries) if (entry.expiresAtMs <= now) entries.delete(key);
}
