// Reads the signing key of the embedded identity provider, to create special tokens for tests.

import { createPrivateKey, createPublicKey, type JsonWebKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SigningKey } from '../plugins/oauth2/forge.ts';
import { call } from './client.ts';

export const keyFileOf = (stateDir: string) => join(stateDir, 'identity-provider', 'jwks.json');

/** Returns the current signing key with its published `kid`. */
export async function issuerKey({ issuer, stateDir }: { issuer: string; stateDir: string }): Promise<SigningKey> {
  const { keys } = JSON.parse(readFileSync(keyFileOf(stateDir), 'utf8')) as { keys: (JsonWebKey & { alg: string })[] };
  const first = keys[0];
  const metadata = (await call(`${issuer}/.well-known/openid-configuration`)).json<{ jwks_uri: string }>();
  const published = (await call(metadata.jwks_uri)).json<{ keys: Record<string, string>[] }>().keys;
  const jwk = published.find(({ n }) => n === first?.n);
  if (first === undefined || jwk === undefined) throw new Error('the identity provider does not publish its key');
  const privateKey = createPrivateKey({ key: first, format: 'jwk' });
  return { kid: jwk['kid'] as string, alg: first.alg, privateKey, publicKey: createPublicKey(privateKey), jwk };
}
