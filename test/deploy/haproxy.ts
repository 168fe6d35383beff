// The load balancer of deploy/ as a real process: its own file, with other addresses in it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../stack/free-port.ts';
import { pathOf } from '../run/requirements.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { textOf } from './deployment-files.ts';

/** Where one router listens, on 127.0.0.1. */
export interface RouterPorts {
  readonly port: number;
  readonly opsPort: number;
}

/** The file with other addresses; throws when one of them is not in it any more. */
function withAddresses(addresses: readonly (readonly [from: string, to: string])[]): string {
  return addresses.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`haproxy.cfg does not say "${from}"`);
    return text.replaceAll(from, to);
  }, textOf('deploy/load-balancer/haproxy.cfg'));
}

/** Starts it in front of two routers and waits until its own port answers. */
export async function startLoadBalancer(
  routers: readonly [RouterPorts, RouterPorts],
  env: Record<string, string> = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'service-router-haproxy-'));
  const [port, identityPort, operationsPort] = [await freePort(), await freePort(), await freePort()];
  const [a, b] = routers;
  const file = join(folder, 'haproxy.cfg');
  const text = withAddresses([
    ['bind :8080', `bind 127.0.0.1:${port}`],
    ['bind :8083', `bind 127.0.0.1:${identityPort}`],
    ['bind :8404', `bind 127.0.0.1:${operationsPort}`],
    ['/etc/haproxy/tls.pem', join(folder, 'tls.pem')],
    // Docker's names.
    [' resolvers containers init-addr none resolve-prefer ipv4', ''],
    ['server router-a router-a:8080', `server router-a 127.0.0.1:${a.port} port ${a.opsPort}`],
    ['server router-b router-b:8080', `server router-b 127.0.0.1:${b.port} port ${b.opsPort}`],
    ['server keycloak keycloak:8080', 'server keycloak 127.0.0.1:9'],
  ]);
  writeFileSync(file, text);
  const child = spawn(pathOf('haproxy') ?? 'haproxy', ['-db', '-f', file], {
    env: { PATH: process.env['PATH'], TLS: '', KEYCLOAK_URL: 'http://127.0.0.1:8083', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = once(child, 'exit');
  const operationsUrl = `http://127.0.0.1:${operationsPort}`;
  const metrics = () => fetch(`${operationsUrl}/metrics`).then((answer) => answer.text());
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  await Promise.race([
    pollUntil('the load balancer', () =>
      metrics().then(
        () => true,
        () => false,
      ),
    ),
    exited.then(() => {
      throw new Error(`haproxy ended:\n${output}`);
    }),
  ]);
  return {
    /** For clients. */
    url: `http://127.0.0.1:${port}`,
    /** Health and metrics. */
    operationsUrl,
    /** What it has logged. */
    output: () => output,
    /** Names of the routers that get requests. */
    async serving() {
      const up = (await metrics()).matchAll(
        /^haproxy_server_status\{proxy="routers",server="([\w-]+)",state="UP"\} 1$/gm,
      );
      return [...up].map(([, name]) => String(name));
    },
    stop,
  };
}

export type LoadBalancer = Awaited<ReturnType<typeof startLoadBalancer>>;
