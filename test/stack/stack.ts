// Starts a whole stack on a running engine: identity provider, back ends, router and workers as real processes.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkAnswersOf, describeNothingOf } from './client.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { pollUntil } from './poll-until.ts';
import type { Program } from './program.ts';
import { audience, environmentsOf, type StackOptions } from './stack-environment.ts';
import { leaveIdle, type Part, provide, provideOnly, stopIdle, stopPart } from './stack-part.ts';

export { audience, type StackOptions };

export type Stack = Awaited<ReturnType<typeof assemble>>;

const entries = {
  identityProvider: 'dev/identity-provider/main.ts',
  backEnds: 'dev/back-ends/main.ts',
  router: 'gateway/main.ts',
  workers: 'workers/main.ts',
};

/** The folder and ports of a stack, and the function that ends its processes or leaves them running. */
interface Site {
  readonly stateDir: string;
  /** Ports reserved for the programs that tests may restart, so that no other program takes one in the meantime. */
  readonly ports: Readonly<Record<'ROUTER_PORT' | 'OPS_PORT' | 'IDP_PORT', string>>;
  end(parts: Record<keyof typeof entries, Part[]>): Promise<void>;
}

/** Starts a stack with separate processes, data and ports, and waits until the router is ready. */
export async function startStack(options: StackOptions): Promise<Stack> {
  await stopIdleWorkers();
  const stateDir = mkdtempSync(join(tmpdir(), 'service-router-'));
  const end: Site['end'] = async ({ identityProvider, backEnds, router, workers }) => {
    await Promise.all(workers.map(stopPart));
    await Promise.all(router.map(stopPart));
    await Promise.all([...identityProvider, ...backEnds].map(stopPart));
    rmSync(stateDir, { recursive: true, force: true });
  };
  return assemble(options, { stateDir, ports: await findPorts(), end });
}

async function findPorts(): Promise<Site['ports']> {
  const [router, operations, identityProvider] = [await findFreePort(), await findFreePort(), await findFreePort()];
  return { ROUTER_PORT: String(router), OPS_PORT: String(operations), IDP_PORT: String(identityProvider) };
}

let sharedSite: Site | undefined;

/**
 * Starts a stack whose processes keep running when it stops, for the next stack of this vitest worker. All these stacks
 * have the same ports for the router and for the identity provider, so workers can keep running while routers change.
 * Processes whose variables differ are restarted.
 */
export async function shareStack(options: StackOptions): Promise<Stack> {
  sharedSite ??= await prepareSharedSite();
  return assemble(options, sharedSite);
}

async function prepareSharedSite(): Promise<Site> {
  const stateDir = mkdtempSync(join(tmpdir(), 'service-router-'));
  process.once('exit', () => rmSync(stateDir, { recursive: true, force: true }));
  return {
    stateDir,
    ports: await findPorts(),
    end: async (parts) => leaveIdle(Object.values(parts).flat()),
  };
}

/** Ends the idle processes that would take tasks from another router and its workers. */
export function stopIdleWorkers(): Promise<void> {
  return stopIdle(entries.workers, entries.router);
}

async function assemble(options: StackOptions, { stateDir, ports, end }: Site) {
  const environments = environmentsOf(options, stateDir);
  const [[identityProvider], backEnds] = await Promise.all([
    provideOnly(entries.identityProvider, [withPorts(environments.identityProvider, ports)]) as Promise<[Part]>,
    provide(entries.backEnds, environments.backEnds),
  ]);
  const issuer = String(identityProvider.program.ready['url']);
  const backEndsUrl = String(backEnds.program.ready['url']);
  const routerEnv = await environments.router({ issuer, backEndsUrl });
  const [router] = (await provideOnly(entries.router, [withPorts(routerEnv, ports)])) as [Part];
  const url = String(router.program.ready['url']);
  const operationsUrl = String(router.program.ready['operationsUrl']);
  const ownPorts = { ROUTER_PORT: new URL(url).port, OPS_PORT: new URL(operationsUrl).port };
  const workersEnv = environments.workers({ issuer, backEndsUrl, url });
  const pools = environments.pools.map((pool) => ({ ...workersEnv, ...pool }));
  const workers = await provideOnly(entries.workers, pools);
  const known = [identityProvider, backEnds, router, ...workers];
  const start = async (entry: string, env: Record<string, string>) => {
    const part = await provide(entry, env);
    known.push(part);
    return part.program;
  };
  // A program that a test has started itself gets an empty environment here. No stack asks for a program with an empty
  // environment, so this program is never reused.
  const partOf = (entry: string) => (program: Program) =>
    known.find((part) => part.program === program) ?? { entry, env: {}, program };
  const stack = {
    ...{ url, operationsUrl, issuer, backEndsUrl, stateDir },
    /** Environment variables of the router as requested; a port may be 0. */
    routerEnv,
    identityProvider: identityProvider.program,
    backEnds: backEnds.program,
    router: router.program,
    workers: workers.map(({ program }) => program),
    /** Starts the router again on the same port, after it has ended; with additional variables if given. */
    async restartRouter(env: Record<string, string> = {}) {
      stack.router = await start(entries.router, { ...routerEnv, ...ownPorts, ...env });
    },
    /** Starts another worker process. */
    async addWorkers(env: Record<string, string> = {}) {
      const added = await start(entries.workers, { ...workersEnv, ...env });
      stack.workers.push(added);
      return added;
    },
    async stop(): Promise<void> {
      await end({
        identityProvider: [partOf(entries.identityProvider)(stack.identityProvider)],
        backEnds: [partOf(entries.backEnds)(stack.backEnds)],
        router: [partOf(entries.router)(stack.router)],
        workers: stack.workers.map(partOf(entries.workers)),
      });
      // Turns off the check of responses, because the system may give the port to the server of another test.
      describeNothingOf(url);
    },
  };
  if (pools.length > 1) await untilReady(stack);
  if (options.anyAnswer === true) describeNothingOf(url);
  else await checkAnswersOf(url);
  return stack;
}

/** Returns the variables with these ports, except for ports that a test has chosen. */
function withPorts(env: Record<string, string>, ports: Site['ports']): Record<string, string> {
  const isChosen = (name: string) => env[name] !== '0';
  return { ...env, ...Object.fromEntries(Object.entries(ports).filter(([name]) => !isChosen(name))) };
}

/** Waits until `/health/ready` is 200. */
export async function untilReady({ operationsUrl }: Pick<Stack, 'operationsUrl'>): Promise<void> {
  let last = '';
  await pollUntil('the router to be ready', async () => {
    const response = await fetch(`${operationsUrl}/health/ready`);
    last = await response.text();
    return response.status === 200;
  }).catch((error: Error) => {
    throw new Error(`${error.message}: ${last}`);
  });
}
