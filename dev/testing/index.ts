// `service-router/testing`: starts the stack of a gateway for its tests, with the real engine, and calls its routes.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findDevClient } from '../identity-provider/clients.ts';
import { checkGateway } from '../stack/check-gateway.ts';
import { readSettings } from '../stack/options.ts';
import { waitUntilReady } from '../stack/readiness.ts';
import { Stack } from '../stack/stack.ts';

/** A gateway that runs on this machine, with everything that `npm start` starts. */
export interface TestGateway {
  /** Base URL of the router. */
  readonly url: string;
  /** Base URL of the operations port. */
  readonly operationsUrl: string;
  /**
   * Returns an access token of a client of the embedded identity provider.
   * @param client `demo` (default), `reader`, `worker` or `ops`
   * @throws Error when there is no such client, or the router refuses it
   */
  token(client?: string): Promise<string>;
  /**
   * Calls a path of the router as `demo`, or with the token in `init.headers`. Resolves for every status, including
   * redirects.
   */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Stops everything and removes its state; resolves when all programs have ended. */
  stop(): Promise<void>;
}

/** Options of {@link startGateway}. */
export interface TestGatewayOptions {
  /** Configuration as environment variables, on top of the gateway's property files: `{ MOVIES_URL: backEnd.url }`. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Longest time until the gateway is ready, in milliseconds; default 180,000, because a first start prepares the
   * engine.
   */
  readonly timeoutMs?: number;
}

/**
 * Environment variables of this machine that programs need. Others would make a test depend on the shell that runs it.
 */
const inherited = ['PATH', 'HOME', 'TMPDIR', 'JAVA_HOME', 'DOCKER_HOST', 'XDG_CACHE_HOME', 'CONDUCTOR_URL'];

/**
 * Starts the gateway in the working directory: engine, identity provider, router and workers, on free ports and with
 * state of their own. With `CONDUCTOR_URL`, the engine at that URL is used.
 * @throws Error that says what is wrong with the gateway's files, or what was missing when the timeout expired
 */
export async function startGateway({ env = {}, timeoutMs = 180_000 }: TestGatewayOptions = {}): Promise<TestGateway> {
  const stateDir = mkdtempSync(join(tmpdir(), 'service-router-test-'));
  const ports = { ROUTER_PORT: '0', OPS_PORT: '0', CONDUCTOR_PORT: '0', IDP_PORT: '0', BACKENDS_PORT: '0' };
  const machine = Object.fromEntries(
    inherited.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
  );
  const removeState = () => rmSync(stateDir, { recursive: true, force: true });
  const settings = await readCheckedSettings({ ...machine, ...ports, STATE_DIR: stateDir, ...env }).catch(
    (error: unknown) => {
      removeState();
      throw error;
    },
  );
  const said: string[] = [];
  const stack = new Stack({ settings, verbose: false, say: (line) => said.push(line) });
  const stop = async () => {
    await stack.stop();
    removeState();
  };
  const { router: url, operations: operationsUrl } = settings.urls;
  const signal = AbortSignal.timeout(timeoutMs);
  let missing = {};
  try {
    await stack.prepare(signal);
    const ready = waitUntilReady({ operations: operationsUrl, signal, onWait: (reasons) => (missing = reasons) });
    await Promise.race([Promise.all([stack.start(), ready]), stack.failed]);
  } catch (error) {
    await stop();
    const details = [`not ready: ${JSON.stringify(missing)}`, ...said].join('\n');
    throw new Error(`the gateway did not start: ${(error as Error).message}\n${details}`, { cause: error });
  }
  const token = (client = 'demo') => fetchToken(url, client);
  return {
    ...{ url, operationsUrl, token, stop },
    async fetch(path, init = {}) {
      const headers = new Headers(init.headers);
      if (!headers.has('authorization')) headers.set('authorization', `Bearer ${await token()}`);
      return fetch(`${url}${path}`, { redirect: 'manual', ...init, headers });
    },
  };
}

async function fetchToken(url: string, client: string): Promise<string> {
  const clientSecret = findDevClient(client)?.clientSecret;
  if (clientSecret === undefined) throw new Error(`the embedded identity provider has no client ${client}`);
  const response = await fetch(`${url}/token/v1/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: client, client_secret: clientSecret }),
  });
  const { access_token: token } = (await response.json()) as { access_token?: string };
  if (token === undefined) throw new Error(`no token for ${client}: ${response.status}`);
  return token;
}

/** Reads the settings of the stack. @throws Error that says what is wrong with the gateway's files */
async function readCheckedSettings(env: NodeJS.ProcessEnv): ReturnType<typeof readSettings> {
  const settings = await readSettings(env);
  await checkGateway(settings.env);
  return settings;
}
