// The ports of the stack, and checks whether they are free. Plain JavaScript, since it runs before the installation.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

const variableOf = (key) => key.replaceAll('.', '_').toUpperCase();

/** Every port of `npm start` with the configuration's default. The port is not used when the key `unless` is set. */
export const stackPorts = [
  { key: 'router.port', port: 8080, use: 'router' },
  { key: 'ops.port', port: 8081, use: 'operations' },
  { key: 'conductor.port', port: 8082, use: 'workflow engine', unless: 'conductor.url' },
  { key: 'idp.port', port: 8083, use: 'identity provider', unless: 'oauth.issuer' },
  { key: 'backends.port', port: 8084, use: 'back ends' },
].map((entry) => ({ ...entry, variable: variableOf(entry.key) }));

/**
 * Returns the ports that are known without loading the configuration, which needs installed packages: those of
 * environment variables, and defaults that no property file can override.
 * @param {string} root folder of package.json
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {{ port: number, variable: string, use: string }[]}
 */
export function knownPorts(root, env) {
  const text = readFileSync(join(root, 'config/default.properties'), 'utf8');
  const keysOfFile = new Set(text.split('\n').map((line) => line.trim().split(/[=:\s]/, 1)[0]));
  const hasOtherFiles = Boolean(env['CONFIG_URL'] || env['PROFILE']);
  return stackPorts.flatMap(({ key, variable, port, use, unless }) => {
    if (unless !== undefined && (env[variableOf(unless)] || keysOfFile.has(unless))) return [];
    // Invalid values, and 0 for any free port, are left to the configuration.
    if (env[variable])
      return /^[1-9]\d{0,4}$/.test(env[variable]) ? [{ port: Number(env[variable]), variable, use }] : [];
    return hasOtherFiles || keysOfFile.has(key) ? [] : [{ port, variable, use }];
  });
}

/**
 * Checks the ports.
 * @param {readonly { port: number, variable: string, use: string }[]} ports
 * @returns {Promise<string[]>} one line for each port that is taken or set twice
 */
export async function findTakenPorts(ports) {
  const lines = await Promise.all(
    ports.map(async ({ port, variable, use }, index) => {
      const earlier = ports.slice(0, index).find((other) => other.port === port);
      if (earlier) return `Port ${port} is set for both ${earlier.use} (${earlier.variable}) and ${use} (${variable}).`;
      if (await isFree(port)) return undefined;
      return `Port ${port} (${use}) is taken: set ${variable} to another one.`;
    }),
  );
  return lines.filter((line) => line !== undefined);
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** @returns {Promise<number>} a port that is currently free */
export function findFreePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
