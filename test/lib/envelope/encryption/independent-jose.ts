// Loads the JOSE library of the embedded identity provider, as an independent implementation of JWE.

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

interface Jose {
  compactDecrypt(
    token: string,
    key: Uint8Array,
  ): Promise<{ plaintext: Uint8Array; protectedHeader: Record<string, unknown> }>;
}

/** Returns the library, which is resolved from the package that depends on it. */
export async function joseOf(): Promise<Jose> {
  const provider = createRequire(import.meta.url).resolve('oidc-provider');
  const jose = createRequire(provider).resolve('jose');
  return (await import(pathToFileURL(jose).href)) as Jose;
}
