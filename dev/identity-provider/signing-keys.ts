// Loads, creates and rotates the provider's signing keys, stored in a file that only its owner can read.

import { generateKeyPair } from 'node:crypto';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { JWK } from 'oidc-provider';

/** A private JSON Web Key Set (RFC 7517). The first key of each algorithm signs; the others are only published. */
export interface SigningKeys {
  readonly keys: readonly JWK[];
}

const createKeyPair = promisify(generateKeyPair);

/**
 * Returns the keys in the file `path`; creates an RS256 and an ES256 key when the file does not exist.
 * @throws Error that names the file when it does not hold a key set
 */
export async function loadSigningKeys(path: string): Promise<SigningKeys> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  return text === null ? saveSigningKeys(path, [await createRsaKey(), await createEcKey()]) : parse(path, text);
}

/**
 * Adds a new RS256 key that signs from now on. The old keys stay published, so tokens signed with them remain valid.
 */
export async function rotateSigningKeys(path: string, current: SigningKeys): Promise<SigningKeys> {
  return saveSigningKeys(path, [await createRsaKey(), ...current.keys]);
}

/** Replaces the file atomically, so that a crash leaves either the old or the new keys. */
async function saveSigningKeys(path: string, keys: readonly JWK[]): Promise<SigningKeys> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}.new`;
  await writeFile(draft, JSON.stringify({ keys }, null, 2), { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, path);
  return { keys };
}

async function createRsaKey(): Promise<JWK> {
  const { privateKey } = await createKeyPair('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' } as JWK;
}

async function createEcKey(): Promise<JWK> {
  const { privateKey } = await createKeyPair('ec', { namedCurve: 'P-256' });
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256' } as JWK;
}

function parse(path: string, text: string): SigningKeys {
  try {
    const value = JSON.parse(text) as SigningKeys;
    if (Array.isArray(value.keys) && value.keys.length > 0) return value;
  } catch {
    // The error below reports this without the text of the file, which may contain a private key.
  }
  throw new Error(`${path} does not contain a key set: delete it to get new keys (all tokens then become invalid)`);
}
