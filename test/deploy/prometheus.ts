// Runs Prometheus as a real process with the files of deploy/, in which only addresses and intervals are replaced.

import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { serverProcess } from '../stack/server-process.ts';
import { textOf } from './deployment-files.ts';

/**
 * Starts Prometheus and waits until it is ready.
 * @param targets the `host:port` that replaces each target of the file, such as `router-a:8081`
 */
export async function startPrometheus(targets: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'service-router-prometheus-'));
  const address = `127.0.0.1:${await findFreePort()}`;
  let text = textOf('deploy/prometheus/prometheus.yml').replace('127.0.0.1:9090', address);
  for (const [name, instead] of Object.entries(targets)) {
    if (!text.includes(`'${name}'`)) throw new Error(`prometheus.yml has no target ${name}`);
    text = text.replace(name, instead);
  }
  // With intervals of 15 s, tests would spend most of their time waiting.
  writeFileSync(join(folder, 'prometheus.yml'), text.replaceAll('_interval: 15s', '_interval: 1s'));
  copyFileSync(
    fileURLToPath(new URL('../../deploy/prometheus/alerts.yml', import.meta.url)),
    join(folder, 'alerts.yml'),
  );
  const files = [`--config.file=${join(folder, 'prometheus.yml')}`, `--storage.tsdb.path=${join(folder, 'data')}`];
  const server = serverProcess({
    name: 'Prometheus',
    command: 'prometheus',
    args: [...files, `--web.listen-address=${address}`],
    logFile: join(folder, 'prometheus.log'),
    isReady: async () => (await fetch(`http://${address}/-/ready`)).ok,
  });
  await server.start();
  return {
    /**
     * Returns `data` from a response of the HTTP API.
     * @throws Error with the API's message when it rejects the request
     */
    async ask<T>(path: string) {
      const answer = (await (await fetch(`http://${address}/api/v1/${path}`)).json()) as { data: T; error?: string };
      if (answer.error !== undefined) throw new Error(`${path}: ${answer.error}`);
      return answer.data;
    },
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
