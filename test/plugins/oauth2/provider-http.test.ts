// Tests of the error codes of failed calls to the identity provider.

import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { expect, it, onTestFinished } from 'vitest';
import { findFreePort } from '../../../dev/setup/ports.mjs';
import { listenOnLoopback } from '../../../dev/loopback-server.ts';
import { ProviderHttp } from '../../../plugins/oauth2/provider/provider-http.ts';
import { makeCertificate } from '../../stack/certificate.ts';

/** Returns the error of a call to a server on this port. */
async function failureOf(protocol: 'http' | 'https', port: number | string): Promise<unknown> {
  const http = new ProviderHttp({ timeoutMs: 60_000, connections: 1 });
  onTestFinished(() => http.close());
  const call = http.request({ method: 'GET', url: `${protocol}://127.0.0.1:${port}/jwks`, maxBytes: 100 });
  return call.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** Starts a server and returns its port. */
async function portOf(server: Parameters<typeof listenOnLoopback>[0]): Promise<string> {
  const { url, close } = await listenOnLoopback(server);
  onTestFinished(close);
  return new URL(url).port;
}

const unreachable = (reason: string) => ({ code: 'unreachable', message: expect.stringContaining(reason) as string });

it('returns `unreachable` when nothing listens', async () => {
  expect(await failureOf('http', await findFreePort())).toMatchObject(unreachable('ECONNREFUSED'));
});

it('returns `unreachable` when the certificate is not trusted', async () => {
  const certificate = makeCertificate();
  const port = await portOf(createTlsServer({ key: certificate, cert: certificate }));
  expect(await failureOf('https', port)).toMatchObject(unreachable('DEPTH_ZERO_SELF_SIGNED_CERT'));
});

it('returns `unreachable` when the server does not speak TLS', async () => {
  const port = await portOf(createServer());
  expect(await failureOf('https', port)).toMatchObject(unreachable('SSL'));
});

it('returns `unreachable` when the server closes the connection during the TLS handshake', async () => {
  const port = await portOf(createServer().on('connection', (socket) => socket.destroy()));
  expect(await failureOf('https', port)).toMatchObject(unreachable('ECONNRESET'));
});

it('returns `cut-off` when the server closes the connection after the request', async () => {
  const port = await portOf(createServer((_request, response) => response.destroy()));
  expect(await failureOf('http', port)).toMatchObject({ code: 'cut-off' });
});
