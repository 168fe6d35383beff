// A whole stack on an engine that runs already: identity provider, back ends, router and workers as real processes.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkAnswersOf } from './client.ts';
import { pollUntil } from './poll-until.ts';
import { type Program, startProgram } from './program.ts';

export const audience = 'urn:service-router';

export interface StackOptions {
  engineUrl: string;
  /** Variables for the router, besides what it needs to find the others. */
  router?: Record<string, string>;
  /** Variables for the workers. */
  workers?: Record<string, string>;
  /** Variables for the back ends. */
  backEnds?: Record<string, string>;
  /** Variables for the identity provider. */
  identityProvider?: Record<string, string>;
  /** Starts a second workers process in this domain. Default `002`; null for none. */
  colocatedDomain?: string | null;
  /** False: no workers are started. */
  withWorkers?: boolean;
  /** True: the router's responses need not be those that its OpenAPI document describes. */
  anyAnswer?: boolean;
}

export interface Stack {
  readonly url: string;
  readonly operationsUrl: string;
  readonly issuer: string;
  readonly backEndsUrl: string;
  readonly stateDir: string;
  /** What the router was started with, without its ports. */
  readonly routerEnv: Record<string, string>;
  identityProvider: Program;
  backEnds: Program;
  router: Program;
  workers: Program[];
  /** Starts the router again on the same port, with other variables when given. */
  restartRouter(env?: Record<string, string>): Promise<void>;
  /** Starts one more workers process. */
  addWorkers(env?: Record<string, string>): Promise<Program>;
  stop(): Promise<void>;
}

/** Starts it and waits until the router is ready. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const stateDir = mkdtempSync(join(tmpdir(), 'service-router-'));
  const shared = { STATE_DIR: stateDir, OAUTH_AUDIENCE: audience, ...payloadKeyOfRun() };
  const [identityProvider, backEnds] = await Promise.all([
    startProgram('dev/identity-provider/main.ts', { ...shared, IDP_PORT: '0', ...options.identityProvider }),
    startProgram('dev/back-ends/main.ts', { ...shared, BACKENDS_PORT: '0', ...options.backEnds }),
  ]);
  const issuer = identityProvider.ready['url'] as string;
  const base = backEnds.ready['url'] as string;
  const addresses = {
    ...shared,
    OAUTH_ISSUER: issuer,
    CONDUCTOR_URL: options.engineUrl,
    ADAPTOR_001_URL: `${base}/adaptors/001`,
    ADAPTOR_002_URL: `${base}/adaptors/002`,
    LMSDW_URL: `${base}/lms-dw`,
    MOVIES_URL: `${base}/movies`,
    MDM_URL: `${base}/mdm`,
  };
  // The suites share an engine: a reconciler would also repair what another suite has left behind on purpose.
  const off = { RECONCILER_INTERVALMS: '0' };
  // Router and workers know the same adaptors, as where they share a property file.
  const adaptors = Object.entries(options.workers ?? {}).filter(([name]) => /^ADAPTOR_\w+_URL$/.test(name));
  const routerEnv = {
    ...addresses,
    ...Object.fromEntries(adaptors),
    ...off,
    ROUTER_PORT: '0',
    OPS_PORT: '0',
    ...options.router,
  };
  const router = await startProgram('gateway/main.ts', routerEnv);
  const url = router.ready['url'] as string;
  const operationsUrl = router.ready['operationsUrl'] as string;
  const ports = { ROUTER_PORT: new URL(url).port, OPS_PORT: new URL(operationsUrl).port };
  const startWorkers = (env: Record<string, string> = {}) =>
    startProgram('workers/main.ts', {
      ...addresses,
      CONDUCTOR_APIURL: `${url}/conductor/api`,
      WORKERS_CLIENTID: 'worker',
      WORKERS_CLIENTSECRET: 'worker-secret',
      // A worker that stops reads its polls to their end: short ones keep the suites quick.
      WORKERS_POLLTIMEOUTMS: '1000',
      ...options.workers,
      ...env,
    });
  const { colocatedDomain = '002', withWorkers = true } = options;
  const pools = withWorkers ? [{}, ...(colocatedDomain === null ? [] : [{ WORKERS_DOMAIN: colocatedDomain }])] : [];
  const workers = await Promise.all(pools.map(startWorkers));
  const stack: Stack = {
    url,
    operationsUrl,
    issuer,
    backEndsUrl: base,
    stateDir,
    routerEnv,
    identityProvider,
    backEnds,
    router,
    workers,
    async restartRouter(env = {}) {
      stack.router = await startProgram('gateway/main.ts', { ...routerEnv, ...ports, ...env });
    },
    async addWorkers(env) {
      const added = await startWorkers(env);
      stack.workers.push(added);
      return added;
    },
    async stop() {
      await Promise.all(stack.workers.map((program) => program.stop()));
      await stack.router.stop();
      await Promise.all([stack.identityProvider.stop(), stack.backEnds.stop()]);
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
  if (withWorkers && colocatedDomain !== null) await untilReady(stack);
  if (options.anyAnswer !== true) await checkAnswersOf(url);
  return stack;
}

/** TEST_PAYLOAD_KEY: any suite can be run with encrypted payloads. */
function payloadKeyOfRun(): Record<string, string> {
  const key = process.env['TEST_PAYLOAD_KEY'];
  return key === undefined ? {} : { PAYLOAD_KEY: key };
}

/** Waits until `/health/ready` is 200. */
export async function untilReady({ operationsUrl }: Pick<Stack, 'operationsUrl'>): Promise<void> {
  let last = '';
  await pollUntil(
    'the router to be ready',
    async () => {
      const response = await fetch(`${operationsUrl}/health/ready`);
      last = await response.text();
      return response.status === 200;
    },
    { timeoutMs: 20_000 },
  ).catch((error: Error) => {
    throw new Error(`${error.message}: ${last}`);
  });
}
