// The production topology as processes of this machine: what docker-compose.yml has in containers, on random ports.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseServer } from '../../dev/engine/engine-arguments.ts';
import { type Keycloak, startKeycloak } from '../keycloak/start-keycloak.ts';
import { type EngineServers, startEngineServers } from '../stack/engine-servers.ts';
import { freePort } from '../stack/free-port.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { type Program, startProgram } from '../stack/program.ts';
import type { Component } from './component.ts';
import { backEndAddresses, routerEnvironment, workersEnvironment } from './environment.ts';
import { type LoadBalancer, startLoadBalancer, type Target } from './load-balancer.ts';
import { startPostgresql } from './postgresql.ts';
import { programComponent } from './program-component.ts';
import { startRedis } from './redis.ts';
import type { Requirements } from './requirements.ts';

export interface Topology {
  /** Public address: the load balancer's. */
  readonly url: string;
  readonly backEndsUrl: string;
  readonly loadBalancer: LoadBalancer;
  /** In the order in which they are killed. */
  readonly components: readonly Component[];
  /** By client. */
  readonly secrets: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

export interface TopologyOptions {
  /** For data, logs and the history. */
  readonly dir: string;
  readonly historyFile: string;
  /** `router.responseDeadlineMs`. */
  readonly budgetMs: number;
  readonly requirements: Requirements;
  readonly say: (line: string) => void;
}

const clients = ['demo', 'reader', 'worker', 'ops'];

/** Starts it from the bottom up and waits until every router is ready. What was started is stopped when something fails. */
export async function startTopology(options: TopologyOptions): Promise<Topology> {
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const each of stops.splice(0).reverse()) await each();
  };
  try {
    return { ...(await startAll(options, (each) => stops.push(each))), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type OnStop = (stop: () => Promise<unknown>) => void;

async function startAll(options: TopologyOptions, onStop: OnStop): Promise<Omit<Topology, 'stop'>> {
  const { dir, requirements, say } = options;
  const secrets = Object.fromEntries(clients.map((client) => [client, crypto.randomUUID()]));
  const postgresql = await startPostgresql({ bin: requirements.postgresqlBin, dir });
  onStop(() => postgresql.process.stop());
  const redis = await startRedis({ command: requirements.redisServer, dir });
  onStop(() => redis.process.stop());
  say('PostgreSQL and Redis run');
  const [engines, keycloak] = await startSlowOnes({ database: postgresql.database, dir, secrets, onStop });
  say('two engines and Keycloak run');
  const programs = await startPrograms(options, { engines, keycloak, redisUrl: redis.url, secrets, onStop });
  return {
    ...programs,
    secrets,
    components: [
      ...engineComponents(engines),
      ...programs.components,
      { name: 'Keycloak', kill: () => keycloak.kill(), start: () => keycloak.start() },
      redis.process,
      postgresql.process,
    ],
  };
}

/** Java takes its time: side by side. What did start is stopped, even when another did not. */
async function startSlowOnes(options: {
  readonly database: DatabaseServer;
  readonly dir: string;
  readonly secrets: Readonly<Record<string, string>>;
  readonly onStop: OnStop;
}): Promise<[EngineServers, Keycloak]> {
  const { database, dir, secrets, onStop } = options;
  const placeholders = clients.map((client) => [`${client.toUpperCase()}_CLIENT_SECRET`, secrets[client] as string]);
  const starts = await Promise.allSettled([
    startEngineServers({ database, count: 2, dir }),
    startKeycloak(Object.fromEntries(placeholders)),
  ]);
  for (const start of starts) if (start.status === 'fulfilled') onStop(() => start.value.stop());
  const [engines, keycloak] = starts;
  if (engines.status === 'rejected') throw engines.reason;
  if (keycloak.status === 'rejected') throw keycloak.reason;
  return [engines.value, keycloak.value];
}

function engineComponents(engines: EngineServers): Component[] {
  return engines.urls.map((_, index) => ({
    name: `engine ${index + 1}`,
    kill: () => engines.kill(index),
    start: () => engines.start(index),
  }));
}

interface Below {
  readonly engines: EngineServers;
  readonly keycloak: Keycloak;
  readonly redisUrl: string;
  readonly secrets: Readonly<Record<string, string>>;
  readonly onStop: OnStop;
}

/** Back ends, routers, their load balancer, workers. */
async function startPrograms({ dir, historyFile, budgetMs }: TopologyOptions, below: Below) {
  const { engines, keycloak, redisUrl, secrets, onStop } = below;
  const state = join(dir, 'programs');
  mkdirSync(state);
  const start = async (name: string, entry: string, env: Record<string, string>) => {
    const launch = () => startProgram(entry, { STATE_DIR: state, ...env });
    const component = programComponent({ name, launch, dir, first: await launch() });
    onStop(() => component.stop());
    return component;
  };
  const backEndsEnv = { STATE_DIR: state, BACKENDS_PORT: '0', BACKENDS_HISTORY_FILE: historyFile };
  const backEnds: Program = await startProgram('dev/back-ends/main.ts', backEndsEnv);
  onStop(() => backEnds.stop());
  const backEndsUrl = String(backEnds.ready['url']);
  const addresses = backEndAddresses(backEndsUrl);
  const routerEnv = {
    ...addresses,
    ...routerEnvironment({ engineUrls: engines.urls, keycloak, redisUrl, budgetMs }),
  };
  const targets: Target[] = [];
  const routers: Component[] = [];
  for (const name of ['router 1', 'router 2']) {
    const [port, operationsPort] = [await freePort(), await freePort()];
    const ports = { ROUTER_PORT: String(port), OPS_PORT: String(operationsPort) };
    routers.push(await start(name, 'gateway/main.ts', { ...routerEnv, ...ports }));
    const readyUrl = `http://127.0.0.1:${operationsPort}/health/ready`;
    targets.push({ name, url: `http://127.0.0.1:${port}`, readyUrl });
  }
  const loadBalancer = await startLoadBalancer(targets);
  onStop(() => loadBalancer.stop());
  const workersEnv = { ...addresses, ...workersEnvironment(loadBalancer.url, secrets['worker'] as string) };
  const workers: Component[] = [
    await start('worker 1', 'workers/main.ts', workersEnv),
    await start('worker 2', 'workers/main.ts', workersEnv),
    await start('worker of 002', 'workers/main.ts', { ...workersEnv, WORKERS_DOMAIN: '002' }),
  ];
  for (const { name, readyUrl } of targets) await untilReady(name, readyUrl);
  return { url: loadBalancer.url, backEndsUrl, loadBalancer, components: [...routers, ...workers] };
}

async function untilReady(name: string, url: string): Promise<void> {
  let last = '';
  const probe = async () => {
    const answer = await fetch(url);
    last = await answer.text();
    return answer.ok;
  };
  await pollUntil(`${name} to be ready`, probe, { timeoutMs: 90_000, everyMs: 250 }).catch((error: Error) => {
    throw new Error(`${error.message}: ${last}`);
  });
}
