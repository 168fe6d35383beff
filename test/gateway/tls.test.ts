// Tests of HTTPS on the public port: a certificate from openssl, its renewal, and connections without TLS.

import { execFileSync } from 'node:child_process';
import { pbkdf2 } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { text } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '#lib/config/load.ts';
import { type HttpServer, startHttpServer } from '../../gateway/server/http-server.ts';
import { readBody } from '../../gateway/plugin-api/read-body.ts';
import { tlsOf } from '../../gateway/server/tls.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { pollUntil } from '../stack/poll-until.ts';

const folder = mkdtempSync(join(tmpdir(), 'service-router-tls-'));
const files = { certificateFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') };
const log = createLog('test', 'silent');
let metrics: Registry;
let server: HttpServer;

/** Creates a self-signed certificate for 127.0.0.1 with this common name. */
function makeCertificate(name: string): void {
  const names = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const out = ['-keyout', join(folder, `${name}.key`), '-out', join(folder, `${name}.crt`)];
  execFileSync('openssl', [...kind, ...names, ...out], { stdio: 'ignore' });
}

function use(certificate: string, key = certificate): void {
  copyFileSync(join(folder, `${certificate}.crt`), files.certificateFile);
  copyFileSync(join(folder, `${key}.key`), files.keyFile);
}

/** Starts a server. The default timeout is longer than any pause of a busy machine. */
const start = (headersTimeoutMs = 30_000) =>
  startHttpServer({
    host: '127.0.0.1',
    port: 0,
    metrics,
    accessLog: () => undefined,
    limits: {
      maxConnections: 3,
      headersTimeoutMs,
      requestTimeoutMs: 30_000,
      keepAliveTimeoutMs: 30_000,
      responseTimeoutMs: 30_000,
    },
    tls: { files, log, watchMs: 20 },
    app: (incoming, response) =>
      void readBody(incoming, 1_000).then((body) => response.end(`${incoming.method} ${body.toString()}`)),
  });

beforeAll(() => ['first', 'second'].forEach(makeCertificate));
beforeEach(async () => {
  use('first');
  metrics = new Registry();
  server = await start();
});
afterEach(() => server.stop(100));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function restart(headersTimeoutMs: number): Promise<void> {
  await server.stop(0);
  metrics = new Registry();
  server = await start(headersTimeoutMs);
}

/** Sends one request over a connection that trusts only the certificate with the name `trusted`. */
async function send(trusted: string, method: string, body = ''): Promise<{ status: number; body: string }> {
  const ca = readFileSync(join(folder, `${trusted}.crt`));
  const sent = request(server.url, { method, ca, agent: false }).end(body);
  const [answer] = await once(sent, 'response');
  return { status: answer.statusCode, body: await text(answer) };
}

async function handshake(options: object = {}): Promise<TLSSocket> {
  const socket = connect({ port: Number(new URL(server.url).port), rejectUnauthorized: false, ...options });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect').catch(() => undefined);
  return socket;
}

const openConnections = async () => (await metrics.getSingleMetric('router_connections')?.get())?.values[0]?.value;

describe('HTTPS', () => {
  it('responds to a client that checks the certificate', async () => {
    expect(server.url).toMatch(/^https:/);
    expect(await send('first', 'PATCH', 'x'.repeat(500))).toEqual({ status: 200, body: `PATCH ${'x'.repeat(500)}` });
    await expect(send('second', 'GET')).rejects.toThrow(/self-signed|unable to verify/);
  });

  it.each([
    ['TLSv1.3', 'TLSv1.3'],
    ['TLSv1.2', 'TLSv1.2'],
    ['TLSv1.1', null],
  ] as const)('a client that offers only %s → protocol %s', async (version, agreed) => {
    // By default, the OpenSSL of the client would reject the old version before the server could.
    const socket = await handshake({ minVersion: version, maxVersion: version, ciphers: 'DEFAULT:@SECLEVEL=0' });
    expect(socket.connecting || socket.destroyed ? null : socket.getProtocol()).toBe(agreed);
    socket.destroy();
  });

  it('negotiates HTTP/1.1 with a client that prefers HTTP/2', async () => {
    const socket = await handshake({ ALPNProtocols: ['h2', 'http/1.1'] });
    expect(socket.alpnProtocol).toBe('http/1.1');
    socket.destroy();
  });

  it('data over TLS that is not HTTP → a problem document', async () => {
    const socket = await handshake();
    socket.write('HELLO\r\n\r\n');
    expect(await text(socket)).toMatch(
      /^HTTP\/1\.1 400 [^]*application\/problem\+json[^]*"type":"\/problems\/malformed-request"/,
    );
  });

  it('plain HTTP → closed without a response; other clients are still served', async () => {
    const socket = connectPlain(Number(new URL(server.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.end('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await text(socket).catch(() => '')).not.toContain('HTTP/1.1');
    expect((await send('first', 'GET')).status).toBe(200);
  });
});

describe('connections', () => {
  it('are counted and limited once their handshake is complete', async () => {
    const sockets = [];
    for (let count = 0; count < 5; count += 1) sockets.push(await handshake());
    await pollUntil('the limit to hold', async () => (await openConnections()) === 3);
    for (const socket of sockets) socket.destroy();
  });

  it('without a completed handshake are closed to make room for others', async () => {
    await restart(1_000);
    const idle = Array.from({ length: 8 }, () => connectPlain(Number(new URL(server.url).port), '127.0.0.1'));
    const closed: unknown[] = [];
    for (const socket of idle) {
      socket.on('error', () => undefined);
      socket.once('close', () => closed.push(socket));
      socket.resume();
    }
    await pollUntil('the oldest connections to be closed', () => closed.length >= 5);
    expect(await openConnections()).toBe(0);
    expect((await send('first', 'GET')).status).toBe(200);
    // The handshake timeout closes the other connections.
    await pollUntil('the other connections to be closed', () => closed.length === 8);
  });

  it('without a completed handshake do not delay the stop', async () => {
    const handshakeMs = 30_000;
    await restart(handshakeMs);
    const socket = connectPlain(Number(new URL(server.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    const closed = once(socket.resume(), 'close');
    // Connections are accepted in order, so the server has accepted the first one as well.
    expect((await send('first', 'GET')).status).toBe(200);
    const stoppedAt = performance.now();
    await server.stop(0);
    expect(performance.now() - stoppedAt).toBeLessThan(handshakeMs / 2);
    await closed;
  });
});

describe('renewal', () => {
  it('new files → new connections get the new certificate, and open connections stay open', async () => {
    const socket = await handshake();
    use('second');
    await pollUntil('the new certificate', () =>
      send('second', 'GET').then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    socket.end('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    expect(await text(socket)).toContain('HTTP/1.1 200');
  });

  it('a change right after the start → the new certificate, even if the file system is slow', async () => {
    await server.stop(0);
    // The four threads of Node's pool, which also read files, are busy when the server starts.
    for (let thread = 0; thread < 4; thread++) pbkdf2('', '', 500_000, 64, 'sha512', () => undefined);
    metrics = new Registry();
    server = await start();
    use('second');
    await pollUntil('the new certificate', () =>
      send('second', 'GET').then(
        () => true,
        () => false,
      ),
    );
  });

  it('a key that does not match the certificate → the old certificate stays until the files match again', async () => {
    use('second', 'first');
    expect((await send('first', 'GET')).status).toBe(200);
    use('second');
    await pollUntil('the new certificate', () =>
      send('second', 'GET').then(
        () => true,
        () => false,
      ),
    );
  });
});

describe('at startup', () => {
  it('a key that does not match the certificate → an error that names the files', async () => {
    use('first', 'second');
    await expect(start()).rejects.toThrow(/tls\.crt and .*tls\.key \(router\.tlsCertificateFile, router\.tlsKeyFile\)/);
  });

  it('only one of the two configuration keys → an error', async () => {
    const { config } = await loadConfig({ env: { ROUTER_TLSCERTIFICATEFILE: '/x' } });
    expect(() => tlsOf(config, log)).toThrow('belong together');
    expect(tlsOf((await loadConfig({ env: {} })).config, log)).toBeUndefined();
  });
});
