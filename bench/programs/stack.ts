// Starts the product as it runs in production: identity provider, router and workers, each in its own process.

import type { Run } from '../run.ts';
import { type RunningProgram, startProgram } from './program.ts';

export interface BenchRouter {
  readonly url: string;
  readonly operationsUrl: string;
  readonly pid: number;
  /** Returns an access token of a development client; the token outlives the run. */
  tokenOf(client: 'demo' | 'reader' | 'worker' | 'ops'): Promise<string>;
}

/** Lifetime of tokens in seconds: longer than any run. */
const tokenSeconds = 86_400;

/** The path of every GET through the router. */
export const moviePath = '/movies/Metropolis';

/** The address of an engine, and the router settings that it requires. */
export interface RouterEngine {
  readonly url: string;
  /** Environment variables of a router in front of this engine. */
  readonly routerEnv?: Readonly<Record<string, string>>;
}

/** Starts an identity provider and a router in front of an engine. @param env environment variables of the router */
export async function startRouter(
  run: Run,
  { url, routerEnv }: RouterEngine,
  env: Readonly<Record<string, string>> = {},
): Promise<BenchRouter> {
  return startRouterOf(run, await startIdentityProvider(run), { CONDUCTOR_URL: url, ...routerEnv, ...env });
}

/** Starts an identity provider whose tokens outlive the run, and returns its issuer. */
export async function startIdentityProvider(run: Run): Promise<string> {
  const env = { IDP_PORT: '0', IDP_TOKEN_SECONDS: String(tokenSeconds) };
  return String((await startOwn(run, 'identity-provider', env)).ready['issuer']);
}

/** Starts a router that accepts the tokens of an issuer. @param env variables of the router, such as CONDUCTOR_URL */
export async function startRouterOf(
  run: Run,
  issuer: string,
  env: Readonly<Record<string, string>>,
): Promise<BenchRouter> {
  const { pid, ready } = await startOwn(run, 'router', {
    OAUTH_ISSUER: issuer,
    ROUTER_PORT: '0',
    OPS_PORT: '0',
    // The router counts requests for the rate limit as usual, but rejects none.
    ROUTER_RATELIMITPERSECOND: '1000000',
    ...env,
  });
  const url = String(ready['url']);
  return { url, operationsUrl: String(ready['operationsUrl']), pid, tokenOf: (client) => fetchToken(url, client) };
}

export interface BenchStack extends BenchRouter {
  readonly workers: RunningProgram;
  /** Access token of a client that may read. */
  readonly token: string;
}

export interface StackOptions {
  engine: RouterEngine;
  backEndUrl: string;
  /** Environment variables of the workers, in addition to those of the movies route. */
  workersEnv?: Record<string, string>;
  /** Environment variables of the router. */
  routerEnv?: Record<string, string>;
}

/** Starts the router and the workers, and waits until a request has been served. */
export async function startStack(run: Run, { engine, backEndUrl, workersEnv = {}, routerEnv }: StackOptions) {
  run.step('starting the router and its workers');
  const router = await startRouter(run, engine, routerEnv);
  const workers = await startOwn(run, 'workers', {
    CONDUCTOR_APIURL: `${router.url}/conductor/api`,
    WORKERS_CLIENTID: 'worker',
    WORKERS_CLIENTSECRET: 'worker-secret',
    WORKERS_TASKTYPES: 'movies_intake',
    MOVIES_URL: backEndUrl,
    ...workersEnv,
  });
  const token = await router.tokenOf('demo');
  const response = await fetch(`${router.url}${moviePath}`, { headers: { authorization: `Bearer ${token}` } });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`a GET through the router responded with ${response.status}: ${text}`);
  return { ...router, workers, token } satisfies BenchStack;
}

const entries = {
  'identity-provider': 'dev/identity-provider/main.ts',
  router: 'gateway/main.ts',
  workers: 'workers/main.ts',
  'back-ends': 'dev/back-ends/main.ts',
} as const;

/** Starts one of the product's programs and stops it when the run ends. */
export async function startOwn(
  run: Run,
  name: keyof typeof entries,
  own: Record<string, string>,
): Promise<RunningProgram> {
  const env = { STATE_DIR: run.stateDir, OAUTH_AUDIENCE: 'urn:service-router', ...own };
  const program = await startProgram({ name, entry: entries[name], stateDir: run.stateDir, env });
  run.onEnd(() => program.stop());
  return program;
}

async function fetchToken(routerUrl: string, client: string): Promise<string> {
  const response = await fetch(`${routerUrl}/token/v1/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `grant_type=client_credentials&client_id=${client}&client_secret=${client}-secret`,
  });
  if (response.status !== 200) throw new Error(`no token: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { access_token: string }).access_token;
}
