// Tests of the HTTP clients of the router and workers against a server that prefers HTTP/2, as TLS load balancers do.

import { once } from 'node:events';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Engine } from '#lib/conductor/engine.ts';
import { ProviderHttp } from '../../../plugins/oauth2/provider/provider-http.ts';
import { RouterApi } from '../../../workers/sdk/router-api.ts';
import { makeCertificate } from '../../stack/certificate.ts';

const timeoutMs = 60_000;
const trusted = getCACertificates('default');
/** HTTP version of each call. */
const versions: string[] = [];
let server: Http2SecureServer;
let url: string;

beforeAll(async () => {
  const certificate = makeCertificate();
  setDefaultCACertificates([...trusted, certificate]);
  server = createSecureServer({ key: certificate, cert: certificate, allowHTTP1: true }, (request, response) => {
    versions.push(request.httpVersion);
    response.end('{"token":"t"}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  setDefaultCACertificates(trusted);
  server?.close();
});

/** Sends one call with a client, then closes the client. */
async function callOnce<C extends { close(): Promise<void> }>(client: C, call: (client: C) => Promise<unknown>) {
  await call(client);
  await client.close();
}
const secret = { clientId: 'worker', clientSecret: 'secret' };
const calls: [string, () => Promise<void>][] = [
  [
    'a worker and the router',
    () =>
      callOnce(new RouterApi({ apiURL: `${url}/conductor/api`, ...secret, timeoutMs }), (api) =>
        api.call({ method: 'GET', path: '/tasks' }),
      ),
  ],
  [
    'the router and the engine',
    () =>
      callOnce(new Engine({ url, timeoutMs, connections: 1 }), (engine) =>
        engine.request({ method: 'GET', path: '/health' }),
      ),
  ],
  [
    'the router and the identity provider',
    () =>
      callOnce(new ProviderHttp({ timeoutMs, connections: 1 }), (http) =>
        http.request({ method: 'GET', url: `${url}/jwks`, maxBytes: 100 }),
      ),
  ],
];

it.each(calls)('HTTP/1.1 between %s, so that a call that times out closes its connection', async (_where, call) => {
  versions.length = 0;
  await call();
  expect(new Set(versions)).toEqual(new Set(['1.1']));
});
