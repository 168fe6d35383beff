// Defines the ports of the stack and checks whether they are free. Plain JavaScript, since it runs before the
// installation.

import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

const variableOf = (key) => key.replaceAll('.', '_').toUpperCase();

/**
 * Every port of `npm start` with its default in the configuration. A port is not used when the configuration key named
 * by `unless` is set. `hostKey` names the key of the address; without one, the program listens on 127.0.0.1.
 */
export const stackPorts = [
  { key: 'router.port', port: 8080, use: 'router', hostKey: 'router.host' },
  { key: 'ops.port', port: 8081, use: 'operations server', hostKey: 'ops.host' },
  { key: 'conductor.port', port: 8082, use: 'workflow engine', unless: 'conductor.url' },
  { key: 'idp.port', port: 8083, use: 'identity provider', unless: 'oauth.issuer' },
  { key: 'backends.port', port: 8084, use: 'back ends', hostKey: 'backends.host' },
].map((entry) => ({ ...entry, variable: variableOf(entry.key) }));

/**
 * Returns the ports that are known without loading the configuration, which needs installed packages: those set by
 * environment variables, and defaults that no property file can override.
 * @param {string} root folder of package.json
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {import('./ports.d.mts').StackPort[]}
 */
export function knownPorts(root, env) {
  const text = readFileSync(join(root, 'config/default.properties'), 'utf8');
  const keysOfFile = new Set(text.split('\n').map((line) => line.trim().split(/[=:\s]/, 1)[0]));
  const hasOtherFiles = Boolean(env['CONFIG_URL'] || env['PROFILE']);
  const isInFile = (key) => hasOtherFiles || keysOfFile.has(key);
  return stackPorts.flatMap(({ key, variable, port, use, unless, hostKey }) => {
    if (unless !== undefined && (env[variableOf(unless)] || keysOfFile.has(unless))) return [];
    const host = addressOf(hostKey, { env, isInFile });
    // Invalid values, and 0 for any free port, are left to the configuration.
    const known = env[variable] ? /^[1-9]\d{0,4}$/.test(env[variable]) : !isInFile(key);
    return known && host !== undefined ? [{ port: Number(env[variable] || port), variable, use, ...host }] : [];
  });
}

/** Returns the address of a port, for {@link findTakenPorts}; undefined when a property file may set it. */
function addressOf(hostKey, { env, isInFile }) {
  if (hostKey === undefined) return {};
  const host = env[variableOf(hostKey)];
  if (host) return { host, hostKey };
  return isInFile(hostKey) ? undefined : {};
}

/**
 * Checks the ports, each on the address that its program listens on.
 * @param {readonly import('./ports.d.mts').StackPort[]} ports
 * @returns {Promise<string[]>} one line for each port that is taken, cannot be used or is set twice
 */
export async function findTakenPorts(ports) {
  const lines = await Promise.all(
    ports.map(async ({ port, variable, use, host, hostKey }, index) => {
      const earlier = ports.slice(0, index).find((other) => other.port === port);
      if (earlier) return `Port ${port} is set for both ${earlier.use} (${earlier.variable}) and ${use} (${variable}).`;
      const code = await errorOf(port, host);
      if (code === undefined) return undefined;
      if (hostKey !== undefined && !portErrors.includes(code))
        return `The ${use} cannot listen on ${host} (${code}): set ${variableOf(hostKey)} to an address of this machine.`;
      const problem = code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${code})`;
      return `Port ${port} (${use}) ${problem}: set ${variable} to another one.`;
    }),
  );
  return lines.filter((line) => line !== undefined);
}

/** Errors that concern the port. All others concern the address. */
const portErrors = ['EADDRINUSE', 'EACCES'];

/** Listens on the port for a moment. Returns the code of the error, such as EADDRINUSE; undefined without one. */
function errorOf(port, host = '127.0.0.1') {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code }) => resolve(code));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}

/** Ports below the ranges from which Linux and macOS take the ports of outgoing connections. */
const freePorts = { from: 20_000, to: 32_768 };
const maxTries = 100;

/**
 * Finds a port for a program that cannot choose one itself. Until this process ends, no other call returns the same
 * port, in this process or another one: a UDP socket on the port reserves it and does not affect TCP servers.
 * @param {string} [host] address that the program listens on; default 127.0.0.1
 * @returns {Promise<number>} a TCP port of this address that nothing listens on
 */
export async function findFreePort(host) {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const port = randomInt(freePorts.from, freePorts.to);
    const reservation = await reserve(port);
    if (reservation !== undefined && !portErrors.includes(await errorOf(port, host))) return port;
    reservation?.close();
  }
  throw new Error(`no free port between ${freePorts.from} and ${freePorts.to} in ${maxTries} tries`);
}

/** Reserves a port with a UDP socket; returns undefined when the port is already reserved. */
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
