// A whole stack on an engine that runs already: identity provider, back ends, router and workers as real processes.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkAnswersOf, describeNothingOf } from './client.ts';
import { pollUntil } from './poll-until.ts';
import type { Program } from './program.ts';
import { audience, environmentsOf, type StackOptions } from './stack-environment.ts';
import { stopIdleWorkers } from './idle-stack.ts';
import { provide, type RouterPorts, type StackParts, stopPart } from './stack-part.ts';

export { audience, type StackOptions };

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
  await stopIdleWorkers();
  const stateDir = mkdtempSync(join(tmpdir(), 'service-router-'));
  const remove = async (parts: StackParts) => {
    await Promise.all(parts.workers.map(stopPart));
    await stopPart(parts.router);
    await Promise.all([stopPart(parts.identityProvider), stopPart(parts.backEnds)]);
    rmSync(stateDir, { recursive: true, force: true });
  };
  return assembleStack(options, { stateDir, ports: { ROUTER_PORT: '0', OPS_PORT: '0' } }, remove);
}

/**
 * Starts what the stack needs, or takes it from an earlier one that was started with the same variables.
 * @param end gets the processes that the stack has at its end
 */
export async function assembleStack(
  options: StackOptions,
  earlier: Pick<StackParts, 'stateDir' | 'ports'> & Partial<StackParts>,
  end: (parts: StackParts) => Promise<void>,
): Promise<Stack> {
  const { stateDir } = earlier;
  const environments = environmentsOf(options, stateDir);
  const [identityProvider, backEnds] = await Promise.all([
    provide('dev/identity-provider/main.ts', environments.identityProvider, earlier.identityProvider),
    provide('dev/back-ends/main.ts', environments.backEnds, earlier.backEnds),
  ]);
  const issuer = String(identityProvider.program.ready['url']);
  const backEndsUrl = String(backEnds.program.ready['url']);
  const routerEnv = await environments.router({ issuer, backEndsUrl });
  const pools = environments.pools;
  const startsAfter = (earlier.workers ?? []).filter((part, index) => index >= pools.length || !part.program.isAlive());
  await Promise.all(startsAfter.map(stopPart));
  const router = await provide('gateway/main.ts', withPorts(routerEnv, earlier.ports), earlier.router);
  const url = String(router.program.ready['url']);
  const operationsUrl = String(router.program.ready['operationsUrl']);
  const ports = { ROUTER_PORT: new URL(url).port, OPS_PORT: new URL(operationsUrl).port };
  const workersEnv = environments.workers({ issuer, backEndsUrl, url });
  const workers = await Promise.all(
    pools.map((pool, index) => provide('workers/main.ts', { ...workersEnv, ...pool }, earlier.workers?.[index])),
  );
  const known = new Map([identityProvider, backEnds, router, ...workers].map((part) => [part.program, part]));
  const start = async (entry: string, env: Record<string, string>) => {
    const part = await provide(entry, env);
    known.set(part.program, part);
    return part.program;
  };
  // What a test has put in the place of another program fits no other stack.
  const partOf = (program: Program) => known.get(program) ?? { env: {}, program };
  const stack: Stack = {
    ...{ url, operationsUrl, issuer, backEndsUrl, stateDir, routerEnv },
    identityProvider: identityProvider.program,
    backEnds: backEnds.program,
    router: router.program,
    workers: workers.map(({ program }) => program),
    async restartRouter(env = {}) {
      stack.router = await start('gateway/main.ts', { ...routerEnv, ...ports, ...env });
    },
    async addWorkers(env) {
      const added = await start('workers/main.ts', { ...workersEnv, ...env });
      stack.workers.push(added);
      return added;
    },
    stop: () =>
      end({
        ...{ stateDir, ports },
        identityProvider: partOf(stack.identityProvider),
        backEnds: partOf(stack.backEnds),
        router: partOf(stack.router),
        workers: stack.workers.map(partOf),
      }),
  };
  if (pools.length > 1) await untilReady(stack);
  if (options.anyAnswer === true) describeNothingOf(url);
  else await checkAnswersOf(url);
  return stack;
}

/** Returns the variables with these ports, but for those that a test has chosen. */
function withPorts(env: Record<string, string>, ports: RouterPorts): Record<string, string> {
  const isChosen = (name: string) => env[name] !== '0';
  return { ...env, ...Object.fromEntries(Object.entries(ports).filter(([name]) => !isChosen(name))) };
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
