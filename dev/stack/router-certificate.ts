// Finds and checks the certificate of a router that serves HTTPS, so that the stack's other programs can call the
// router.

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { gatewayDir } from '#lib/config/folders.ts';
import type { Config } from '#lib/config/schema.ts';

/** Returns the path of the certificate; undefined when the router serves HTTP. */
export function routerCertificate(config: Config): string | undefined {
  const file = config['router.tlsCertificateFile'];
  return file === undefined || config['router.tlsKeyFile'] === undefined ? undefined : resolve(gatewayDir(), file);
}

/**
 * Returns the environment variable with which Node trusts a self-signed certificate of the router, unless it is already
 * set.
 */
export function trustInRouter(config: Config, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const file = routerCertificate(config);
  return file === undefined || env['NODE_EXTRA_CA_CERTS'] ? {} : { NODE_EXTRA_CA_CERTS: file };
}

/**
 * Checks that the certificate is for the host at which the workers call the router: otherwise, the stack would never
 * become ready.
 * @throws Error with a readable message when the certificate is for other hosts, or its file cannot be read
 */
export function checkRouterCertificate(config: Config, url: string): void {
  const file = routerCertificate(config);
  if (file === undefined) return;
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
  const certificate = read(file);
  const matches = isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host);
  if (matches !== undefined) return;
  throw new Error(
    `router.tlsCertificateFile: the certificate is not for ${host}, at which the workers call the router ` +
      `(its names: ${certificate.subjectAltName ?? 'none'}). Set CONDUCTOR_APIURL to https://<a name of the certificate>:<port>/conductor/api.`,
  );
}

function read(file: string): X509Certificate {
  try {
    return new X509Certificate(readFileSync(file));
  } catch (error) {
    throw new Error(`router.tlsCertificateFile: ${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
