// HTTPS of the public port: certificate and key from files, taken up anew when they change.

import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { createServer, type Server, type ServerOptions } from 'node:https';
import type { Socket } from 'node:net';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Config } from '#lib/config/schema.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';

/** PEM files of one server name. */
export interface TlsFiles {
  /** The server's certificate, then those between it and the root. */
  readonly certificateFile: string;
  readonly keyFile: string;
}

const defaultWatchMs = 10_000;

/** What a server needs to speak HTTPS. */
export interface TlsOptions {
  readonly files: TlsFiles;
  /** Told of renewals. */
  readonly log: Logger;
  /** Pause between two looks at the files, in milliseconds; default 10,000. */
  readonly watchMs?: number;
}

/**
 * By `router.tlsCertificateFile` and `router.tlsKeyFile`.
 * @returns undefined when the port speaks HTTP
 * @throws Error when only one of them is set
 */
export function tlsOf(config: Config, log: Logger): TlsOptions | undefined {
  const [certificateFile, keyFile] = [config['router.tlsCertificateFile'], config['router.tlsKeyFile']];
  if (certificateFile === undefined && keyFile === undefined) return undefined;
  if (certificateFile === undefined || keyFile === undefined)
    throw new Error('router.tlsCertificateFile and router.tlsKeyFile belong together: set both or neither');
  return { files: { certificateFile, keyFile }, log };
}

/** @throws Error that names the files, when they cannot be read or do not belong together */
export function readTlsFiles({ certificateFile, keyFile }: TlsFiles): SecureContextOptions {
  try {
    const context = { cert: readFileSync(certificateFile), key: readFileSync(keyFile), minVersion: 'TLSv1.2' } as const;
    createSecureContext(context);
    return context;
  } catch (error) {
    throw new Error(
      `cannot use ${certificateFile} and ${keyFile} (router.tlsCertificateFile, router.tlsKeyFile): ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/**
 * A server that speaks HTTP/1.1 over TLS 1.2 and 1.3.
 * @param options `handshakeTimeout` in milliseconds; `maxHandshakes` connections may be without TLS at once, beyond it
 *   the oldest of them is cut: they are not yet counted as connections
 * @throws Error that names the files, when they cannot be used
 */
export function createTlsServer(files: TlsFiles, options: ServerOptions & { maxHandshakes: number }): Server {
  const { maxHandshakes, ...rest } = options;
  const server = createServer({ ...rest, ...readTlsFiles(files), ALPNProtocols: ['http/1.1'] });
  const pending = new Map<string, Socket>();
  const peer = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
  server.on('connection', (socket: Socket) => {
    const [oldest] = pending.values();
    if (pending.size >= maxHandshakes) oldest?.destroy();
    const key = peer(socket);
    pending.set(key, socket);
    socket.once('close', () => pending.delete(key));
  });
  server.on('secureConnection', (socket) => pending.delete(peer(socket)));
  return server;
}

/**
 * Looks at the files and gives the server what they hold: connections that are open keep what they have. Files that
 * cannot be used (a key that has not been renewed yet) change nothing and are tried again at their next change.
 * @returns stops looking
 */
export function renewCertificate(server: Server, { files, log, watchMs = defaultWatchMs }: TlsOptions): () => void {
  const renew = () => {
    try {
      server.setSecureContext(readTlsFiles(files));
      log.info('the certificate has been renewed');
    } catch (error) {
      log.error(errorFields(error), 'the certificate cannot be renewed: the one of before is in use');
    }
  };
  const watched = [files.certificateFile, files.keyFile];
  for (const file of watched) watchFile(file, { interval: watchMs, persistent: false }, renew);
  return () => {
    for (const file of watched) unwatchFile(file, renew);
  };
}
