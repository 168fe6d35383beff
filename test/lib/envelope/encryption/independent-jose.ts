// The JOSE library that the embedded identity provider brings along: an implementation of JWE that is not ours.

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

interface Jose {
  compactDecrypt(
    token: string,
    key: Uint8Array,
  ): Promise<{ plaintext: Uint8Array; protectedHeader: Record<string, unknown> }>;
}

/** Resolved from the package that depends on it. */
export async function joseOf(): Promise<Jose> {
  const provider = createRequire(import.meta.url).resolve('oidc-provider');
  const jose = createRequire(provider).resolve('jose');
  return (await import(pathToFileURL(jose).href)) as Jose;
}
