// Creates certificates for TLS servers in tests.

import { execFileSync } from 'node:child_process';

/** Returns a self-signed certificate for 127.0.0.1 and its key, as PEM. */
export function makeCertificate(): string {
  const names = ['-subj', '/CN=test', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  return execFileSync('openssl', [...kind, ...names, '-keyout', '-'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  }).toString();
}
