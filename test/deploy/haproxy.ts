// Runs the load balancer of deploy/ as a real process, with its own configuration file in which only addresses are
// replaced.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { pathOf } from '../run/requirements.ts';
import { serverProcess } from '../stack/server-process.ts';
import { textOf } from './deployment-files.ts';

/** The ports of one router on 127.0.0.1. */
export interface RouterPorts {
  readonly port: number;
  readonly opsPort: number;
}

/**
 * Returns the configuration file with other addresses.
 * @throws Error when the file does not contain one of the addresses to replace
 */
function withAddresses(addresses: readonly (readonly [from: string, to: string])[]): string {
  return addresses.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`haproxy.cfg does not say "${from}"`);
    return text.replaceAll(from, to);
  }, textOf('deploy/load-balancer/haproxy.cfg'));
}

/** Returns the configuration file with a tenth of each limit on connections, so that tests need fewer connections. */
function withTenthOfConnections(text: string): string {
  return text.replace(
    /^( *(?:maxconn|presetenv CONNECTIONS_PER_ADDRESS|.* sc0_conn_cur gt) )(\d+)/gm,
    (_line, name, limit) => {
      return `${name}${Number(limit) / 10}`;
    },
  );
}

/**
 * Starts the load balancer in front of two routers and waits until its operations port responds.
 * @param fewConnections whether all limits on connections are a tenth of those in the file
 */
export async function startLoadBalancer(
  routers: readonly [RouterPorts, RouterPorts],
  { env = {}, fewConnections = false }: { env?: Record<string, string>; fewConnections?: boolean } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'service-router-haproxy-'));
  const [port, identityPort, operationsPort] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const [a, b] = routers;
  const file = join(folder, 'haproxy.cfg');
  const text = withAddresses([
    ['bind :8080', `bind 127.0.0.1:${port}`],
    ['bind :8083', `bind 127.0.0.1:${identityPort}`],
    ['bind :8404', `bind 127.0.0.1:${operationsPort}`],
    ['/etc/haproxy/tls.pem', join(folder, 'tls.pem')],
    // Options that apply only to names in Docker's DNS.
    [' resolvers containers init-addr none resolve-prefer ipv4', ''],
    ['server router-a front-router-a:8080', `server router-a 127.0.0.1:${a.port} port ${a.opsPort}`],
    ['server router-b front-router-b:8080', `server router-b 127.0.0.1:${b.port} port ${b.opsPort}`],
    ['server keycloak keycloak:8080', 'server keycloak 127.0.0.1:9'],
  ]);
  writeFileSync(file, fewConnections ? withTenthOfConnections(text) : text);
  const operationsUrl = `http://127.0.0.1:${operationsPort}`;
  const metrics = () => fetch(`${operationsUrl}/metrics`).then((answer) => answer.text());
  const logFile = join(folder, 'haproxy.log');
  const server = serverProcess({
    name: 'HAProxy',
    command: pathOf('haproxy') ?? 'haproxy',
    args: ['-db', '-f', file],
    env: { TLS: '', KEYCLOAK_URL: 'http://127.0.0.1:8083', ...env },
    logFile,
    isReady: async () => (await metrics()) !== '',
  });
  await server.start();
  return {
    /** Base URL for clients. */
    url: `http://127.0.0.1:${port}`,
    /** Base URL of Keycloak. */
    identityUrl: `http://127.0.0.1:${identityPort}`,
    /** Base URL of health and metrics. */
    operationsUrl,
    /** Returns the metrics in Prometheus' text format. */
    metrics,
    /** Returns the log so far. */
    output: () => readFileSync(logFile, 'utf8'),
    /** Returns the names of those routers of a backend that receive requests. */
    async serving(backend = 'routers') {
      const up = (await metrics()).matchAll(
        /^haproxy_server_status\{proxy="([\w-]+)",server="([\w-]+)",state="UP"\} 1$/gm,
      );
      return [...up].flatMap(([, proxy, name]) => (proxy === backend ? [String(name)] : []));
    },
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type LoadBalancer = Awaited<ReturnType<typeof startLoadBalancer>>;
