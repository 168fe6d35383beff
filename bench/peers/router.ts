// This product: router and workers as production starts them, with an engine on SQLite, Redis or PostgreSQL.

import { postgresqlProperties } from '../../dev/engine/engine-arguments.ts';
import { engineRelease } from '../../dev/engine/release.ts';
import { startEngine } from '../../dev/engine/start-engine.ts';
import { startRedisEngine } from '../../dev/engine/start-redis-engine.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { registerDefinitions } from '../programs/definitions.ts';
import { moviePath, startStack } from '../programs/stack.ts';
import type { Run } from '../run.ts';
import type { Peer } from './peer.ts';
import { startOwnPostgresql } from './postgresql.ts';

type Store = 'sqlite' | 'redis' | 'postgresql';

const stores: Readonly<Record<Store, { title: string; durability: string }>> = {
  sqlite: { title: 'SQLite', durability: 'start, step, result: file, no fsync' },
  redis: { title: 'Redis', durability: 'start, step, result: fsync each second' },
  postgresql: { title: 'PostgreSQL', durability: 'start, step, result: fsync' },
};

/** @param javaOptions of the engine */
export function router(store: Store, javaOptions: readonly string[]): Peer {
  const { title, durability } = stores[store];
  return {
    name: `router-${store}`,
    title: `Service Router, ${title}`,
    setup: `router, workers, Conductor ${engineRelease.version} on ${title}`,
    durability,
    isSynced: store === 'postgresql',
    isRouter: true,
    async start(run, { backEndUrl }) {
      const engine = await startStore(run, store, javaOptions);
      await registerDefinitions(engine.url);
      const { url, token, pid, workers } = await startStack(run, { engine, backEndUrl });
      const call = { path: moviePath, headers: { authorization: `Bearer ${token}` } };
      return { url, call, pids: [...engine.pids, pid, workers.pid] };
    },
  };
}

/** Starts an engine and what it stores in; they end with the run. */
export async function startStore(run: Run, store: Store, javaOptions: readonly string[]) {
  const options = { port: await findFreePort(), stateDir: run.stateDir };
  if (store === 'redis') {
    const engine = await startRedisEngine({ ...options, tuning: { javaOptions } });
    run.onEnd(() => engine.stop());
    // As `npm start -- --store redis`: the router uses the same server.
    return { url: engine.url, pids: known(engine.pid, engine.redis.pid), routerEnv: { REDIS_URL: engine.redis.url } };
  }
  const server = store === 'postgresql' ? await startOwnPostgresql(run) : undefined;
  const tuning = server === undefined ? {} : { database: server.database, properties: postgresqlProperties };
  const engine = await startEngine({ ...options, tuning: { ...tuning, javaOptions } });
  run.onEnd(() => engine.stop());
  return { url: engine.url, pids: known(engine.pid, server?.pid), routerEnv: {} };
}

function known(...pids: readonly (number | undefined)[]): number[] {
  return pids.filter((pid) => pid !== undefined);
}
