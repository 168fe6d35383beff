// Reads the keys of payload encryption: the active key encrypts, and all keys decrypt.

import { createSecretKey, type KeyObject } from 'node:crypto';
import { ConfigError } from '#lib/config/load.ts';
import type { Config } from '#lib/config/schema.ts';

/** An AES-256-GCM key and its id (`kid` of a JWE). */
export interface PayloadKey {
  id: string;
  key: KeyObject;
}

/** The configured keys. */
export interface PayloadKeys {
  /** The key that encrypts; null when nothing is encrypted. */
  active: PayloadKey | null;
  /** The keys that decrypt, including the active key, by id. */
  byId: ReadonlyMap<string, PayloadKey>;
}

/** Returns the configured keys. @throws ConfigError when two different keys have the same id */
export function readPayloadKeys(config: Pick<Config, 'payload.key' | 'payload.decryptionKeys'>): PayloadKeys {
  const text = config['payload.key'];
  const active = text === undefined ? null : parseKey(text);
  const byId = new Map(active === null ? [] : [[active.id, active]]);
  const problems: string[] = [];
  for (const other of config['payload.decryptionKeys'].map(parseKey)) {
    const known = byId.get(other.id);
    if (known !== undefined && !known.key.equals(other.key))
      problems.push(`payload.decryptionKeys: two different keys have the id ${other.id}: give each key its own id`);
    else byId.set(other.id, other);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return { active, byId };
}

/** Parses `<id>:<32 bytes in base64>`, which the configuration schema has validated. */
function parseKey(text: string): PayloadKey {
  const [id = '', bytes = ''] = text.split(':');
  return { id, key: createSecretKey(Buffer.from(bytes, 'base64')) };
}
