// An instance of the production-like Compose stack under a random name, on free ports, with random secrets.

import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { composeVariables } from './deployment-files.ts';

const rootDir = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Creates the project without starting it. Images and other optional settings come from the environment of this
 * process.
 */
export async function createComposeProject() {
  const name = `service-router-${crypto.randomUUID().slice(0, 8)}`;
  const folder = mkdtempSync(join(tmpdir(), 'service-router-compose-'));
  const [router, ui, keycloak, grafana] = [
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
  ];
  const secretNames = [...composeVariables()].filter(
    ([key, { required }]) => required && /_(?:PASSWORD|SECRET)$/.test(key),
  );
  const secrets = Object.fromEntries(secretNames.map(([key]) => [key, crypto.randomUUID()]));
  const variables = {
    ...secrets,
    BACK_ENDS_FILE: join(rootDir, 'deploy/demo.properties'),
    COMPOSE_PROFILES: 'demo',
    ROUTER_PORT: router,
    CONDUCTOR_UI_PORT: ui,
    KEYCLOAK_PORT: keycloak,
    GRAFANA_PORT: grafana,
    // Random, so that it differs from the network of a stack that already runs on this machine.
    FRONT_NETWORK: `10.${randomInt(200, 250)}.${randomInt(250)}.0/24`,
    KEYCLOAK_URL: `http://127.0.0.1:${keycloak}`,
  };
  const envFile = join(folder, 'set.env');
  writeFileSync(
    envFile,
    Object.entries(variables)
      .map(([key, value]) => `${key}=${value}\n`)
      .join(''),
    { mode: 0o600 },
  );
  const run = async (...args: string[]): Promise<string> => {
    const command = ['compose', '--project-name', name, '--env-file', envFile, ...args];
    const { stdout } = await promisify(execFile)('docker', command, { cwd: rootDir, maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  };
  return {
    routerUrl: `http://127.0.0.1:${router}`,
    uiUrl: `http://127.0.0.1:${ui}`,
    keycloakUrl: `http://127.0.0.1:${keycloak}`,
    grafanaUrl: `http://127.0.0.1:${grafana}`,
    /** Secrets by the names of their variables. */
    secrets,
    /** Runs `docker compose` with these arguments. @throws Error with its output when it fails */
    run,
    /** Removes containers, networks and volumes. */
    async remove() {
      await run('down', '--volumes', '--remove-orphans', '--timeout', '20');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type ComposeProject = Awaited<ReturnType<typeof createComposeProject>>;
