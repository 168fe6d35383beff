// This product: the router and the workers as they run in production, with an engine on SQLite, Redis or PostgreSQL.

import { engineRelease } from '../../dev/engine/release.ts';
import { type EngineStore, startBenchEngine } from '../programs/engine.ts';
import { moviePath, startStack } from '../programs/stack.ts';
import type { Peer } from './peer.ts';

const stores: Readonly<Record<EngineStore, { title: string; durability: string }>> = {
  sqlite: { title: 'SQLite', durability: 'start, step, result: file, no fsync' },
  redis: { title: 'Redis', durability: 'start, step, result: fsync each second' },
  postgresql: { title: 'PostgreSQL', durability: 'start, step, result: fsync' },
};

/** @param javaOptions JVM options of the engine */
export function router(store: EngineStore, javaOptions: readonly string[]): Peer {
  const { title, durability } = stores[store];
  return {
    name: `router-${store}`,
    title: `Service Router, ${title}`,
    setup: `router, workers, Conductor ${engineRelease.version} on ${title}`,
    durability,
    isSynced: store === 'postgresql',
    isRouter: true,
    async start(run, { backEndUrl }) {
      const engine = await startBenchEngine(run, { store, javaOptions, properties: undefined });
      const { url, token, pid, workers } = await startStack(run, { engine, backEndUrl });
      const call = { path: moviePath, headers: { authorization: `Bearer ${token}` } };
      return { url, call, pids: [...engine.pids, pid, workers.pid] };
    },
  };
}
