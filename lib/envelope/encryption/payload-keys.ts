// The keys that keep requests and answers secret inside the engine: one encrypts, any number decrypts.

import { createSecretKey, type KeyObject } from 'node:crypto';
import { ConfigError } from '#lib/config/load.ts';
import type { Config } from '#lib/config/schema.ts';

/** A key of AES-256-GCM and the id by which it is found again. */
export interface PayloadKey {
  id: string;
  key: KeyObject;
}

export interface PayloadKeys {
  /** Encrypts; null = nothing is encrypted. */
  active: PayloadKey | null;
  /** Every key that decrypts, the active one included. */
  byId: ReadonlyMap<string, PayloadKey>;
}

/** @throws ConfigError when two keys have one id */
export function readPayloadKeys(config: Pick<Config, 'payload.key' | 'payload.decryptionKeys'>): PayloadKeys {
  const text = config['payload.key'];
  const active = text === undefined ? null : parseKey(text);
  const byId = new Map(active === null ? [] : [[active.id, active]]);
  const problems: string[] = [];
  for (const other of config['payload.decryptionKeys'].map(parseKey)) {
    const known = byId.get(other.id);
    if (known !== undefined && !known.key.equals(other.key))
      problems.push(`payload.decryptionKeys: another key has the id ${other.id}`);
    else byId.set(other.id, other);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return { active, byId };
}

/** `<id>:<32 bytes in base64>`, as the schema has checked it. */
function parseKey(text: string): PayloadKey {
  const [id = '', bytes = ''] = text.split(':');
  return { id, key: createSecretKey(Buffer.from(bytes, 'base64')) };
}
