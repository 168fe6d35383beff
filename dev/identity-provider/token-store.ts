// Stores opaque tokens in memory until they expire. JWT access tokens are not stored and survive a restart.

import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';

interface Entry {
  readonly payload: AdapterPayload;
  readonly expiresAtMs: number;
}

/** From this number of tokens on, each new token triggers the removal of expired ones. */
const sweepAbove = 1000;

/** Creates a store for all models of a provider. It is shared by the providers before and after a key rotation. */
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
    // The other methods belong to grants with a user, which this provider does not support.
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
