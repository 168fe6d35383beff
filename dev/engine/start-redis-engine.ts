// Starts an engine on a Redis server of its own, for tests and fault injection.

import { findFreePort } from '../setup/ports.mjs';
import type { Child } from '../stack/child.ts';
import { openProgramLog } from '../stack/program-log.ts';
import { findRedisServer, launchRedisServer, redisUrlOf } from './redis-server.ts';
import { type EngineOptions, type RunningEngine, startEngine } from './start-engine.ts';

/** An engine on Redis. */
export interface RedisEngine extends RunningEngine {
  readonly redis: {
    readonly url: string;
    /** Process id of the current server. */
    readonly pid: number | undefined;
    /** Starts the server again after it was killed, on the same port and with the same data. */
    restart(): Promise<void>;
  };
}

/**
 * Starts redis-server and the engine, which keeps all its data in Redis. Stopping the engine stops both.
 * @throws Error with a readable message when redis-server or Java is missing, or when Redis or the engine does not
 *   start
 */
export async function startRedisEngine(options: Omit<EngineOptions, 'url'>): Promise<RedisEngine> {
  const { stateDir, tuning } = options;
  const command = findRedisServer();
  const redisPort = await findFreePort();
  const log = openProgramLog({ stateDir, program: 'redis' });
  const launch = async () => {
    const started = launchRedisServer({ command, port: redisPort, stateDir, output: log });
    await started.ready;
    return started;
  };
  let server: Child = await launch();
  const stopRedis = async () => {
    await server.stop();
    log.end();
  };
  const engine = await startEngine({ ...options, tuning: { ...tuning, database: { redisPort } } }).catch(
    async (error: unknown) => {
      await stopRedis();
      throw error;
    },
  );
  return {
    ...{ url: engine.url, pid: engine.pid },
    redis: {
      url: redisUrlOf(redisPort),
      get pid() {
        return server.pid;
      },
      async restart() {
        await server.ended;
        server = await launch();
      },
    },
    async stop() {
      await engine.stop();
      await stopRedis();
    },
  };
}
