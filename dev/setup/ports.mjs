// The ports of the stack, and checks whether they are free. Plain JavaScript, since it runs before the installation.

import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

const variableOf = (key) => key.replaceAll('.', '_').toUpperCase();

/** Every port of `npm start` with the configuration's default. The port is not used when the configuration key named by `unless` is set. */
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
 * @returns {Promise<string[]>} one line for each port that is taken, cannot be used or is set twice
 */
export async function findTakenPorts(ports) {
  const lines = await Promise.all(
    ports.map(async ({ port, variable, use }, index) => {
      const earlier = ports.slice(0, index).find((other) => other.port === port);
      if (earlier) return `Port ${port} is set for both ${earlier.use} (${earlier.variable}) and ${use} (${variable}).`;
      const code = await errorOf(port);
      if (code === undefined) return undefined;
      const problem = code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${code})`;
      return `Port ${port} (${use}) ${problem}: set ${variable} to another one.`;
    }),
  );
  return lines.filter((line) => line !== undefined);
}

/** Listens on the port for a moment. Returns the code of the error, such as EADDRINUSE; undefined without one. */
function errorOf(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code }) => resolve(code));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(undefined)));
  });
}

/** Below the ranges from which Linux and macOS take the ports of outgoing connections. */
const freePorts = { from: 20_000, to: 32_768 };
const maxTries = 100;

/**
 * Finds a port for a program that cannot choose one itself. Until this process ends, no other call returns the same
 * port, in this process or another one: a UDP socket on the port reserves it and does not affect TCP servers.
 * @returns {Promise<number>} a TCP port of the loopback interface that nothing listens on
 */
export async function findFreePort() {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const port = randomInt(freePorts.from, freePorts.to);
    const reservation = await reserve(port);
    if (reservation !== undefined && (await errorOf(port)) === undefined) return port;
    reservation?.close();
  }
  throw new Error(`no free port between ${freePorts.from} and ${freePorts.to} in ${maxTries} tries`);
}

/** Returns undefined when the port is already reserved. */
async function reserve(port) {
  const socket = createSocket('udp4').unref();
  const isReserved = await new Promise((resolve) => {
    socket.once('error', () => resolve(false));
    socket.bind(port, '127.0.0.1', () => resolve(true));
  });
  if (isReserved) return socket;
  socket.close();
  return undefined;
}
