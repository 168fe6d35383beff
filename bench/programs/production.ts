// Starts the parts of docker-compose.yml that a request passes through: two engines on one database, Redis, two
// routers, and a load balancer for the workers. The clients of the bench alternate between the routers.

import { join } from 'node:path';
import { clusterProperties, engineLogOptions, postgresqlProperties } from '../../dev/engine/engine-arguments.ts';
import { findRedisServer, launchRedisServer } from '../../dev/engine/redis-server.ts';
import { startEngine } from '../../dev/engine/start-engine.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { openProgramLog } from '../../dev/stack/program-log.ts';
import type { Processes } from '../measure/processes.ts';
import type { Run } from '../run.ts';
import { registerDefinitions } from './definitions.ts';
import { startOwnPostgresql } from './postgresql.ts';
import { type RunningProgram, startProgram } from './program.ts';
import { moviePath, type BenchRouter, startIdentityProvider, startOwn, startRouterOf } from './stack.ts';

/**
 * The heap size and the garbage collector that the JVM chooses in a container with two processors and 1,536 MiB of
 * memory, of which the heap may use 65 %.
 */
const engineJavaOptions = ['-Xmx998m', '-XX:+UseSerialGC', ...engineLogOptions];

export interface Production {
  /** URLs of the engine's servers. */
  readonly engineUrls: readonly string[];
  readonly routers: readonly BenchRouter[];
  /** Access token of a client that may read. */
  readonly token: string;
  readonly processes: Processes;
}

/** Starts the programs and waits until each router has served a request. */
export async function startProduction(run: Run, backEndUrl: string): Promise<Production> {
  const { urls: engineUrls, processes } = await startEngines(run);
  run.step('starting Redis, two routers and their workers');
  const redis = await startRedis(run);
  const provider = await startIdentityProvider(run);
  const env = { CONDUCTOR_URL: engineUrls.join(','), REDIS_URL: redis.url, LIMITS_STORE: 'redis' };
  const routers = await Promise.all([0, 1].map(() => startRouterOf(run, provider, env)));
  const balancer = await startBalancer(run, routers);
  const workers = await startOwn(run, 'workers', {
    CONDUCTOR_APIURL: `${balancer.ready['url']}/conductor/api`,
    WORKERS_CLIENTID: 'worker',
    WORKERS_CLIENTSECRET: 'worker-secret',
    WORKERS_TASKTYPES: 'movies_intake',
    MOVIES_URL: backEndUrl,
  });
  const token = await (routers[0] as BenchRouter).tokenOf('demo');
  for (const { url } of routers) {
    const response = await fetch(`${url}${moviePath}`, { headers: { authorization: `Bearer ${token}` } });
    if (response.status !== 200) throw new Error(`a GET responded with ${response.status}: ${await response.text()}`);
  }
  return {
    ...{ engineUrls, routers, token },
    processes: {
      ...processes,
      redis: [redis.pid],
      router: routers.map(({ pid }) => pid),
      workers: [workers.pid],
      'load balancer': [balancer.pid],
    },
  };
}

async function startEngines(run: Run): Promise<{ urls: string[]; processes: Processes }> {
  if (process.env['CONDUCTOR_URL']) throw new Error('--production starts its own engines: unset CONDUCTOR_URL');
  const server = await startOwnPostgresql(run);
  const properties = [postgresqlProperties, clusterProperties];
  const tuning = { properties, database: server.database, javaOptions: engineJavaOptions };
  const engines = [];
  // The engines start one after the other, because the first one creates the tables.
  for (const name of ['a', 'b']) {
    run.step(`starting engine ${name}`);
    const engine = await startEngine({ port: await findFreePort(), stateDir: join(run.stateDir, name), tuning });
    run.onEnd(() => engine.stop());
    engines.push(engine);
  }
  const urls = engines.map(({ url }) => url);
  await registerDefinitions(urls[0] as string);
  const pids = engines.flatMap(({ pid }) => pid ?? []);
  return { urls, processes: { engine: pids, database: server.processes() } };
}

async function startRedis(run: Run): Promise<{ url: string; pid: number }> {
  const output = openProgramLog({ stateDir: run.stateDir, program: 'redis' });
  const port = await findFreePort();
  const server = launchRedisServer({ command: findRedisServer(), port, stateDir: run.stateDir, output });
  run.onEnd(() => server.stop());
  const { url } = await server.ready;
  return { url: String(url), pid: server.pid as number };
}

async function startBalancer(run: Run, routers: readonly BenchRouter[]): Promise<RunningProgram> {
  const env = { BENCH_ROUTERS: routers.map(({ url }) => url).join(',') };
  const { stateDir } = run;
  const program = await startProgram({
    name: 'load-balancer',
    entry: 'bench/programs/load-balancer.ts',
    env,
    stateDir,
  });
  run.onEnd(() => program.stop());
  return program;
}
