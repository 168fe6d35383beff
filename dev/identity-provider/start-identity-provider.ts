// Starts the identity provider of the development stack. Key rotation replaces the provider behind the running server.

import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { listenOnLoopback } from '../loopback-server.ts';
import { createProvider } from './provider.ts';
import { loadSigningKeys, rotateSigningKeys } from './signing-keys.ts';
import { createTokenStore } from './token-store.ts';

/** Options of the identity provider. */
export interface IdentityProviderOptions {
  /** TCP port on 127.0.0.1; 0 = any free one. */
  port: number;
  /** State directory; the signing keys are in `<stateDir>/identity-provider/jwks.json`. */
  stateDir: string;
  /** `iss` of every token; default `http://127.0.0.1:<port>`. */
  issuer?: string | undefined;
  /** `aud` of every token; default `urn:service-router`. */
  audience?: string | undefined;
  /** Lifetime of a token in seconds; default 3600. */
  tokenSeconds?: number | undefined;
  log: Logger;
}

/** A running identity provider. */
export interface IdentityProvider {
  /** Base URL of the server. */
  readonly url: string;
  /** The `iss` of its tokens; discovery starts from it (RFC 8414). */
  readonly issuer: string;
  /** Creates a new signing key; the old keys stay published. */
  rotateKeys(): Promise<void>;
  /** Stops the server and aborts the requests in flight. */
  stop(): Promise<void>;
}

/**
 * Starts an OAuth 2 authorization server with the clients of `clients.ts`.
 * @throws Error when the port is taken or the key file is broken
 */
export async function startIdentityProvider(options: IdentityProviderOptions): Promise<IdentityProvider> {
  const keyFile = join(options.stateDir, 'identity-provider', 'jwks.json');
  let keys = await loadSigningKeys(keyFile);
  let handle: RequestListener = (_request, response) => response.writeHead(503).end();
  const server = createServer((request, response) => handle(request, response));
  const listening = await listenOnLoopback(server, { port: options.port, variable: 'IDP_PORT' });

  // The default issuer contains the port, which is known only now.
  const issuer = options.issuer ?? listening.url;
  const tokenStore = createTokenStore();
  const serveWithKeys = () => {
    const { audience = 'urn:service-router', tokenSeconds = 3600, log } = options;
    handle = createProvider({ issuer, audience, tokenSeconds, keys, tokenStore, log }).callback();
  };
  try {
    serveWithKeys();
  } catch (error) {
    await listening.close();
    throw error;
  }

  let rotation = Promise.resolve();
  const rotate = async () => {
    keys = await rotateSigningKeys(keyFile, keys);
    serveWithKeys();
    options.log.info({ keys: keys.keys.length }, 'a new signing key is in use');
  };
  return {
    url: listening.url,
    issuer,
    rotateKeys: () => (rotation = rotation.then(rotate, rotate)),
    stop: () => listening.close(),
  };
}
