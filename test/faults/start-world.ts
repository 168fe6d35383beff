// Starts a world on a running engine: back ends, routers, workers, and the additional servers of a case.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBreakableProxy } from '../stack/breakable-proxy.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { type Program, startProgram } from '../stack/program.ts';
import { type RedisServer, startRedisServer } from '../stack/redis-server.ts';
import { seededRandom, type SeededRandom } from '../stack/seeded-random.ts';
import { audience, type Stack, startStack } from '../stack/stack.ts';
import { type BadBackEnd, startBadBackEnd } from './bad-back-end.ts';
import type { WrittenText } from './check-history.ts';
import { keepToken } from './client-token.ts';
import {
  allOthers,
  type Component,
  type Loss,
  programComponent,
  type ProgramComponent,
  recordsLoss,
  serverComponent,
} from './component.ts';
import { startEngineProxy } from './engine-proxy.ts';
import { History } from './history.ts';
import { moviePath, Operations, termsPath } from './operations.ts';
import { cccidPattern, Persons } from './persons.ts';
import { type Production, startProduction } from './production.ts';
import type { GivenEngine } from './engine.ts';
import { stopAll } from './stop-all.ts';
import { type Restarted, watchRedis } from './watched-redis.ts';
import { createWorld, type World, type WorldParts } from './world.ts';

export interface WorldOptions {
  /** `router.responseDeadlineMs`. Default: 6000, so that a lost request does not cost half a minute. */
  readonly budgetMs?: number;
  readonly router?: Readonly<Record<string, string>>;
  readonly workers?: Readonly<Record<string, string>>;
  /** Number of routers on the engine, each with its own workers; clients use all of them. Default: 1. */
  readonly routers?: number;
  /** True to start a Redis that the routers share. */
  readonly redis?: boolean;
  /** True to encrypt payloads inside the engine. */
  readonly encrypted?: boolean;
  /** True for the production profile with Keycloak; needs Redis. */
  readonly production?: boolean;
  /** False: sends no PATCH, so that the run does not wait for MDM. Default: true. */
  readonly patches?: boolean;
  /** Multiplies time limits. Default: 1. */
  readonly slack?: number;
  /** Random choices. Default: from a new seed. */
  readonly random?: SeededRandom;
}

/** Deadline of the first requests in milliseconds: a cold engine on a busy machine is slow. */
const startMs = 120_000;

/** Starts the world; resolves when both worker pools poll and requests succeed. Stops everything on failure. */
export async function startWorld(engine: GivenEngine, options: WorldOptions = {}): Promise<World> {
  const stops: (() => unknown)[] = [];
  const close = async () => {
    const failed = await stopAll(stops.splice(0));
    if (failed.length > 0) throw new Error(failed.join('; '));
  };
  try {
    const world = createWorld({ ...(await startParts(engine, options, (stop) => stops.push(stop))), close });
    await world.untilServed({ timeoutMs: startMs });
    await warmUp(world.operations);
    return world;
  } catch (error) {
    await stopAll(stops.splice(0));
    throw error;
  }
}

type OnStop = (stop: () => unknown) => void;

async function startParts(
  engine: GivenEngine,
  options: WorldOptions,
  onStop: OnStop,
): Promise<Omit<WorldParts, 'close'>> {
  const dir = mkdtempSync(join(tmpdir(), 'service-router-faults-'));
  onStop(() => rmSync(dir, { recursive: true, force: true }));
  const history = new History(join(dir, 'history.jsonl'));
  const { budgetMs = 6_000, patches, slack = 1, random = seededRandom() } = options;
  const ports = { router: await findFreePort(), backEnds: await findFreePort() };
  const badBackEnd = await startBadBackEnd(history.file);
  onStop(() => badBackEnd.stop());
  const proxies = await startProxies(engine, ports, onStop);
  // An engine on Redis has no index, so the router keeps records of executions in its own Redis.
  const needsRedis = options.redis === true || engine.redis !== undefined;
  const { appendfsync } = engine;
  const redis = needsRedis ? await startRedisServer({ appendfsync }) : undefined;
  if (redis !== undefined) onStop(() => redis.stop());
  const production = options.production === true ? await startProduction() : undefined;
  if (production !== undefined) onStop(() => production.keycloak.stop());
  const others = (engine.nodes ?? []).slice(1).map(({ url }) => url);
  const stack = await startStack({
    engineUrl: [proxies.engine.url, ...others].join(','),
    // The misbehaving back ends send responses that the OpenAPI document cannot describe.
    anyAnswer: true,
    router: {
      ROUTER_PORT: String(ports.router),
      ROUTER_RESPONSEDEADLINEMS: String(budgetMs),
      ...hasty,
      ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
      ...production?.router,
      ...options.router,
      ...encryptionOf(options),
    },
    workers: {
      CONDUCTOR_APIURL: `${proxies.api.url}/conductor/api`,
      ...backEndsBehind(proxies.backEnds.url, badBackEnd),
      ...production?.workers,
      ...options.workers,
      ...encryptionOf(options),
    },
    backEnds: { BACKENDS_PORT: String(ports.backEnds), BACKENDS_HISTORY_FILE: history.file },
  });
  onStop(() => stack.stop());
  const endedTexts: WrittenText[] = [];
  const programs = await startPrograms(stack, options.routers ?? 1, { keep: (text) => endedTexts.push(text), onStop });
  const clientSecret = production?.secrets['demo'] ?? 'demo-secret';
  const token = await keepToken(stack.url, clientSecret);
  onStop(() => token.stop());
  const persons = new Persons();
  const common = {
    ...{ history, random, budgetMs, patches, persons, clientSecret, token: token.value },
    urls: programs.routers.map(({ stops }) => stops as string),
    operationsUrls: programs.routers.map((router) => String(router.program().ready['operationsUrl'])),
    references: await readReferences(stack.backEndsUrl),
  };
  const operationsAt = (...urls: string[]) => new Operations({ ...common, ...(urls.length === 0 ? {} : { urls }) });
  const fixed = production === undefined ? knownSecrets : Object.values(production.secrets);
  return {
    ...{ stack, engine, history, random, slack, persons, proxies, badBackEnd, redis, endedTexts, operationsAt },
    ...{ operations: operationsAt(), background: operationsAt() },
    ...programs,
    secrets: () => [...token.all(), ...fixed, cccidPattern],
    components: [
      ...engineComponents(engine),
      ...(await redisComponents({ engine, redis, history, onStop })),
      ...programs.routers,
      ...programs.workers,
      identityProvider(stack, production),
      ...(engine.server === undefined ? [] : [serverComponent({ kind: 'PostgreSQL' }, engine.server)]),
    ],
  };
}

/** Settings with shorter times than the defaults, so that cases need not wait for minutes. */
const hasty = { ROUTER_KEEPALIVETIMEOUTMS: '8000', RECONCILER_INTERVALMS: '3000', RECONCILER_AFTERMS: '10000' };
const knownSecrets = ['demo-secret', 'worker-secret', 'ops-secret'];

function encryptionOf({ encrypted }: WorldOptions): Record<string, string> {
  return encrypted === true ? { PAYLOAD_KEY: `faults:${payloadKey}` } : {};
}
const payloadKey = randomBytes(32).toString('base64');

function backEndsBehind(url: string, badBackEnd: BadBackEnd): Record<string, string> {
  return {
    ADAPTOR_001_URL: `${url}/adaptors/001`,
    ADAPTOR_002_URL: `${url}/adaptors/002`,
    MOVIES_URL: `${url}/movies`,
    MDM_URL: `${url}/mdm`,
    LMSDW_URL: badBackEnd.url,
    ADAPTOR_666_URL: badBackEnd.url,
  };
}

async function startProxies(engine: GivenEngine, ports: { router: number; backEnds: number }, onStop: OnStop) {
  const engineCalls = await startEngineProxy(engine.url);
  onStop(() => engineCalls.stop());
  const start = async (target: string) => {
    const proxy = await startBreakableProxy(target);
    onStop(async () => {
      await proxy.repair();
      await proxy.stop();
    });
    return proxy;
  };
  return {
    engineCalls,
    engine: await start(engineCalls.url),
    backEnds: await start(`http://127.0.0.1:${ports.backEnds}`),
    api: await start(`http://127.0.0.1:${ports.router}`),
  };
}

/** Returns the programs of the stack as components, and starts further routers, each with a pool of workers. */
async function startPrograms(
  stack: Stack,
  count: number,
  { keep, onStop }: { keep: (text: WrittenText) => void; onStop: OnStop },
): Promise<{ routers: ProgramComponent[]; workers: ProgramComponent[] }> {
  const routers = [
    programComponent({
      ...{ kind: 'router', name: 'router 1', stops: stack.url, keep },
      program: () => stack.router,
      launch: () => stack.restartRouter(),
    }),
  ];
  const workerComponent = (name: string, first: Program, env: Record<string, string>) => {
    let current = first;
    return programComponent({
      ...{ kind: 'worker', name, keep },
      ...(env['WORKERS_DOMAIN'] === undefined ? {} : { loss: { breaks: [], spares: withoutAdaptor } }),
      program: () => current,
      async launch() {
        // The stack stops the workers in its list, so the program that has ended is removed from the list.
        stack.workers = stack.workers.filter((program) => program !== current);
        current = await stack.addWorkers(env);
      },
    });
  };
  const [pool, colocated] = stack.workers as [Program, Program];
  const workers = [
    workerComponent('worker 1', pool, {}),
    workerComponent('worker of 002', colocated, { WORKERS_DOMAIN: '002' }),
  ];
  for (let n = 2; n <= count; n++) {
    const ports = { ROUTER_PORT: String(await findFreePort()), OPS_PORT: String(await findFreePort()) };
    const start = () => startProgram('gateway/main.ts', { ...stack.routerEnv, ...ports });
    let current = await start();
    onStop(() => current.stop());
    const stops = String(current.ready['url']);
    const launch = async () => (current = await start());
    routers.push(
      programComponent({ kind: 'router', name: `router ${n}`, stops, program: () => current, launch, keep }),
    );
    const env = { CONDUCTOR_APIURL: `${stops}/conductor/api` };
    workers.push(workerComponent(`worker ${n}`, await stack.addWorkers(env), env));
    // Registered after the router's own stop, so that the workers stop before the router that they poll.
    onStop(() => workers[n]?.program().stop());
  }
  return { routers, workers };
}

const withoutAdaptor = allOthers.filter((route) => route !== 'adaptor' && route !== 'keyed');

function engineComponents({ nodes = [] }: GivenEngine): Component[] {
  return nodes.map((node, index) => serverComponent({ kind: 'engine', name: `engine ${index + 1}` }, node));
}

interface RedisServers {
  readonly engine: GivenEngine;
  /** The router's Redis. */
  readonly redis: RedisServer | undefined;
  readonly history: History;
  readonly onStop: OnStop;
}

/**
 * Returns the Redis servers of the router and the engine as components. With an engine on Redis, the losses of both
 * servers are measured.
 */
async function redisComponents({ engine, redis, history, onStop }: RedisServers): Promise<Component[]> {
  if (redis === undefined) return [];
  const { redis: store, appendfsync = 'everysec' } = engine;
  if (store === undefined) return [serverComponent({ kind: 'Redis' }, { kill: redis.kill, start: redis.restart })];
  const watch = async (server: RedisServer, kind: 'Redis' | "engine's Redis", loss?: Loss) => {
    const report = (restarted: Restarted) => history.append(restarted);
    const watched = await watchRedis(server, { name: kind, appendfsync, report });
    onStop(() => watched.stop());
    return serverComponent({ kind, loss }, watched);
  };
  return [await watch(redis, 'Redis', recordsLoss), await watch(store, "engine's Redis")];
}

/** Returns Keycloak or the embedded identity provider as a component. */
function identityProvider(stack: Stack, production: Production | undefined): Component {
  const kind = 'identity provider';
  if (production !== undefined) return serverComponent({ kind }, production.keycloak);
  return serverComponent(
    { kind },
    {
      kill: () => stack.identityProvider.kill(),
      start: () => startIdentityProvider(stack),
    },
  );
}

/** Restarts the stack's identity provider on its port, with additional environment variables if given. */
export async function startIdentityProvider(stack: Stack, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const { port } = new URL(stack.issuer);
  const own = { STATE_DIR: stack.stateDir, OAUTH_AUDIENCE: audience, IDP_PORT: port };
  stack.identityProvider = await startProgram('dev/identity-provider/main.ts', { ...own, ...env });
}

/** Returns the stand-ins' responses to the reads that clients send. */
async function readReferences(backEndsUrl: string): Promise<Map<string, string>> {
  const read = async (path: string) => (await fetch(`${backEndsUrl}${path}`)).text();
  return new Map([
    [moviePath, await read(moviePath)],
    [termsPath, await read(termsPath.replace('/adaptor/', '/adaptors/'))],
  ]);
}

/** Warms up the engine, because a cold engine is slow. */
async function warmUp({ movie, terms, put, patch }: Operations): Promise<void> {
  for (let round = 0; round < 5; round++) await Promise.all([movie(), terms(), put()]);
  await patch();
}
