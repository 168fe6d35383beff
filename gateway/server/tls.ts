// HTTPS for the public port: loads the certificate and its key from files, and reloads them when the files change.

import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerOptions } from 'node:https';
import type { Socket } from 'node:net';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Config } from '#lib/config/schema.ts';
import { type FileDigests, type FileWatch, watchFiles } from '#lib/process/watch-files.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';

/** PEM files of the server certificate. */
export interface TlsFiles {
  /** The server certificate, followed by the intermediate certificates. */
  readonly certificateFile: string;
  readonly keyFile: string;
}

const defaultWatchMs = 5_000;

/** Options for serving HTTPS on the public port. */
export interface TlsOptions {
  readonly files: TlsFiles;
  /** Receives a line for each reload of the certificate. */
  readonly log: Logger;
  /** Interval at which the files are polled, in milliseconds; default 5,000. */
  readonly watchMs?: number;
}

/**
 * Reads the TLS options from `router.tlsCertificateFile` and `router.tlsKeyFile`.
 * @returns undefined when neither is set: the port serves HTTP
 * @throws Error when only one of them is set
 */
export function tlsOf(config: Config, log: Logger): TlsOptions | undefined {
  const [certificateFile, keyFile] = [config['router.tlsCertificateFile'], config['router.tlsKeyFile']];
  if (certificateFile === undefined && keyFile === undefined) return undefined;
  if (certificateFile === undefined || keyFile === undefined)
    throw new Error('router.tlsCertificateFile and router.tlsKeyFile belong together: set both or neither');
  return { files: { certificateFile, keyFile }, log };
}

/** Reads and checks the files. @throws Error that names the files, if they cannot be read or do not match */
function readTlsFiles({ certificateFile, keyFile }: TlsFiles): SecureContextOptions {
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

/** An HTTPS server that keeps track of the connections whose TLS handshake is pending. */
export interface TlsServer {
  readonly server: Server;
  /** Destroys the connections whose handshake is pending. `server.closeAllConnections` does not destroy them. */
  cutHandshakes(): void;
}

/**
 * Creates a server for HTTP/1.1 over TLS 1.2 and 1.3.
 * @param options `handshakeTimeout` in milliseconds; `maxHandshakes`: returns the maximum number of connections with a
 *   pending handshake. When this number is reached, a new connection causes the oldest of them to be destroyed. These
 *   connections do not count towards the limits on open connections
 * @throws Error that names the files, if they cannot be used
 */
export function createTlsServer(files: TlsFiles, options: ServerOptions & { maxHandshakes: () => number }): TlsServer {
  const { maxHandshakes, ...rest } = options;
  const server = createServer({ ...rest, ...readTlsFiles(files), ALPNProtocols: ['http/1.1'] });
  const pending = new Map<string, Socket>();
  const peer = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
  server.on('connection', (socket: Socket) => {
    const [oldest] = pending.values();
    if (pending.size >= maxHandshakes()) oldest?.destroy();
    const key = peer(socket);
    pending.set(key, socket);
    socket.once('close', () => pending.delete(key));
  });
  server.on('secureConnection', (socket) => pending.delete(peer(socket)));
  return { server, cutHandshakes: () => pending.forEach((socket) => socket.destroy()) };
}

/** Returns the paths of both files. */
export const pathsOf = ({ certificateFile, keyFile }: TlsFiles): readonly string[] => [certificateFile, keyFile];

/**
 * Watches the files and updates the certificate of the server once two polls have read the same new content. Open
 * connections are not affected. Files that cannot be used (such as a new certificate with the old key) are ignored
 * until their next change.
 * @param known digests of the files, taken before the server read them, so that no change in between is missed
 */
export function watchCertificate(
  server: Server,
  { files, log, watchMs = defaultWatchMs }: TlsOptions,
  known: FileDigests,
): Promise<FileWatch> {
  const onChange = () => {
    try {
      server.setSecureContext(readTlsFiles(files));
      log.info('the certificate was reloaded');
    } catch (error) {
      log.error(errorFields(error), 'the certificate cannot be reloaded: the previous one stays in use');
    }
  };
  return watchFiles({ intervalMs: watchMs, files: () => pathsOf(files), known, onChange });
}
