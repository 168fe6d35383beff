// Starts a real Keycloak with the realm file of deploy/ on a random port: freshly unpacked, with its own file database,
// and removed afterwards.

import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findJava } from '../../dev/engine/find-java.ts';
import { startChild } from '../../dev/stack/child.ts';
import { openProgramLog } from '../../dev/stack/program-log.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { pollUntil } from '../stack/poll-until.ts';
import { ensureArchive } from './archive.ts';
import { keycloakRelease } from './release.ts';

const realmFile = fileURLToPath(new URL('../../deploy/keycloak/service-router-realm.json', import.meta.url));

/**
 * Deadline of a start in milliseconds. The first start is slow, because Keycloak builds itself, creates its database
 * and imports the realm.
 */
const startDeadlineMs = 600_000;

/**
 * Starts Keycloak and waits until it is ready.
 * @param environment values for the placeholders in the realm file
 * @throws Error with the last log lines when it does not start
 */
export async function startKeycloak(environment: Record<string, string>) {
  const { java } = await findJava({ minMajor: keycloakRelease.minJava });
  if (java === undefined) throw new Error(`Keycloak needs Java ${keycloakRelease.minJava} or newer`);
  const archive = await ensureArchive(java);
  const stateDir = mkdtempSync(join(tmpdir(), 'service-router-keycloak-'));
  await promisify(execFile)('tar', ['-xzf', archive, '-C', stateDir]);
  const home = join(stateDir, keycloakRelease.folder);
  mkdirSync(join(home, 'data/import'), { recursive: true });
  copyFileSync(realmFile, join(home, 'data/import/service-router-realm.json'));

  const [port, managementPort] = [await findFreePort(), await findFreePort()];
  const url = `http://127.0.0.1:${port}`;
  const adminPassword = crypto.randomUUID();
  const log = openProgramLog({ stateDir, program: 'keycloak' });
  const launch = () =>
    startChild({
      command: join(home, 'bin/kc.sh'),
      args: [...startArguments(url), `--http-port=${port}`, `--http-management-port=${managementPort}`],
      env: {
        PATH: process.env['PATH'],
        JAVA: java.command,
        JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx512m',
        // Optimises for a quick start, because Keycloak is never under load for long.
        JAVA_OPTS_APPEND: '-XX:TieredStopAtLevel=1',
        KC_BOOTSTRAP_ADMIN_USERNAME: 'admin',
        KC_BOOTSTRAP_ADMIN_PASSWORD: adminPassword,
        ...environment,
      },
      output: log,
      stopDeadlineMs: 20_000,
      waitUntilReady: async (signal) => {
        await untilReady(`http://127.0.0.1:${managementPort}`, signal);
        return { url };
      },
    });
  let child = launch();
  const stop = async () => {
    await child.stop();
    log.end();
    rmSync(stateDir, { recursive: true, force: true });
  };
  const untilUp = () =>
    child.ready.catch(async (error: Error) => {
      const lines = log.lastLines().join('\n');
      await stop();
      throw new Error(`Keycloak did not start: ${error.message}\n${lines}`, { cause: error });
    });
  await untilUp();
  return {
    /** Base URL. */
    url,
    /** `iss` of the tokens of the realm `service-router`. */
    issuer: `${url}/realms/service-router`,
    adminPassword,
    /** Sends SIGKILL to Keycloak and its children. */
    async kill() {
      child.kill();
      await child.ended;
    },
    /** Restarts Keycloak on the same port and with the same files; resolves when it is ready. */
    async start() {
      child = launch();
      await untilUp();
    },
    /** Stops Keycloak and removes its files. Safe to call twice. */
    stop,
  };
}

export type Keycloak = Awaited<ReturnType<typeof startKeycloak>>;

/**
 * Returns the arguments of `kc.sh`. Keycloak starts as in the container, but without `--optimized` and with a database
 * that needs no server.
 */
function startArguments(url: string): string[] {
  return [
    'start',
    '--import-realm',
    '--db=dev-file',
    '--cache=local',
    '--health-enabled=true',
    '--http-enabled=true',
    '--http-host=127.0.0.1',
    `--hostname=${url}`,
  ];
}

async function untilReady(managementUrl: string, signal: AbortSignal): Promise<void> {
  const isReady = () =>
    fetch(`${managementUrl}/health/ready`).then(
      ({ ok }) => ok,
      () => signal.aborted,
    );
  await pollUntil('Keycloak to be ready', isReady, { timeoutMs: startDeadlineMs, everyMs: 250 });
}
