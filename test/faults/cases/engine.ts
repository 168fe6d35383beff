// Cases in which the engine is killed, frozen or slow, responds with nonsense, is locked out of its database, or runs
// out of disk space.

import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import type { RedisServer } from '../../stack/redis-server.ts';
import type { GivenEngine } from '../engine.ts';
import { engineMoods } from '../engine-proxy.ts';
import { withoutExecution as spares } from '../component.ts';
import { outage, underLoad } from '../outage.ts';
import type { World } from '../world.ts';
import type { Case } from './case.ts';

/** Makes the engine fail under load: routes that do not need the engine must keep working. */
async function engineOutage(world: World, what: string, during: () => Promise<unknown>): Promise<void> {
  await underLoad(world, { clients: 8 }, async () => {
    await pause(world.random.between(1_000, 2_000));
    await outage(world, { what, spares, kind: 'engine' }, during);
  });
}

const killed: Case = {
  name: 'engine-killed',
  tries: 6,
  world: { budgetMs: 8_000 },
  async tryOnce(world) {
    await engineOutage(world, killed.name, async () => {
      await world.kill(world.component('engine'));
      await world.component('engine').start();
    });
  },
};

const frozen: Case = {
  name: 'engine-frozen-30-s',
  tries: 2,
  world: { budgetMs: 8_000 },
  async tryOnce(world) {
    await engineOutage(world, frozen.name, async () => {
      world.engine.signal?.('SIGSTOP');
      const { movie, put } = world.operations;
      for (let index = 0; index < 150; index++) void (index % 5 === 0 ? put() : movie());
      await pause(30_000);
      world.engine.signal?.('SIGCONT');
    });
    await world.operations.settled();
  },
};

const slow: Case = {
  name: 'engine-slow-2-s-a-call',
  tries: 2,
  // The response timeouts are not scaled down, because every call to the engine takes 2 s longer.
  timeoutScale: 1,
  world: { budgetMs: 25_000 },
  async tryOnce(world) {
    await outage(world, { what: slow.name, spares }, async () => {
      world.proxies.engineCalls.mood = 'slow';
      await underLoad(world, { clients: 4, patchesPerSecond: 0.5 }, () => pause(20_000));
      world.proxies.engineCalls.mood = 'pass';
    });
  },
};

const outOfItsMind: Case = {
  name: 'engine-answers-500-or-garbage',
  tries: 2,
  world: { budgetMs: 8_000 },
  async tryOnce(world) {
    for (const mood of engineMoods.filter((name) => name !== 'pass' && name !== 'slow')) {
      await engineOutage(world, `${outOfItsMind.name}: ${mood}`, async () => {
        world.proxies.engineCalls.mood = mood;
        await pause(3_000);
        world.proxies.engineCalls.mood = 'pass';
      });
    }
  },
};

/** How long the database is locked, in milliseconds: longer than the engine waits for a lock. */
const lockedMs = 20_000;

/** Blocks other writers until the returned function is called. */
async function lockSqlite(file: string): Promise<() => Promise<void>> {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA busy_timeout = 30000; BEGIN EXCLUSIVE');
  return async () => {
    database.exec('ROLLBACK');
    database.close();
  };
}

/** Blocks other readers and writers of executions and tasks until the returned function is called. */
async function lockPostgresql(url: string): Promise<() => Promise<void>> {
  const { hostname, port, pathname } = new URL(url.replace('jdbc:', ''));
  const database = pathname.slice(1);
  const sql = postgres({ host: hostname, port: Number(port), username: 'postgres', database, max: 1 });
  const session = await sql.reserve();
  await session`BEGIN`;
  await session`LOCK TABLE workflow, task IN ACCESS EXCLUSIVE MODE`;
  return async () => {
    await session`ROLLBACK`;
    session.release();
    await sql.end();
  };
}

/** Redis has no locks that another client could hold, so the whole server is made to hang, as during a long script. */
async function lockRedis(redis: RedisServer): Promise<() => Promise<void>> {
  redis.hang();
  return async () => redis.resume();
}

function lock({ redis, databaseUrl, databaseFile = '' }: GivenEngine): Promise<() => Promise<void>> {
  if (redis !== undefined) return lockRedis(redis);
  return databaseUrl === undefined ? lockSqlite(databaseFile) : lockPostgresql(databaseUrl);
}

const locked: Case = {
  name: 'engine-database-locked',
  tries: 2,
  world: { budgetMs: 8_000 },
  async tryOnce(world) {
    await engineOutage(world, locked.name, async () => {
      const unlock = await lock(world.engine);
      await pause(lockedMs);
      await unlock();
    });
  },
};

/** Writes a file that fills the file system of the engine's data to its last block; returns the path of the file. */
function fillDisk(folder: string): string {
  const file = join(folder, 'full');
  const { bavail, bsize } = statfsSync(folder);
  for (let size = bavail * bsize; size > 4_096; size = Math.floor(size / 2)) {
    try {
      writeFileSync(file, Buffer.alloc(size), { flag: 'a' });
    } catch {
      // Less space was left than reported: the next attempt writes half as much.
    }
  }
  return file;
}

const diskFull: Case = {
  name: 'engine-disk-full',
  tries: 3,
  engine: { diskMiB: 96 },
  needs: ['mount'],
  world: { budgetMs: 8_000 },
  async tryOnce(world) {
    await engineOutage(world, diskFull.name, async () => {
      const { dataDir } = world.engine;
      if (dataDir === undefined) throw new Error('this engine has no file system of its own');
      const file = fillDisk(dataDir);
      await pause(10_000);
      rmSync(file);
      // With `appendfsync always`, Redis exits when it cannot write.
      await world.engine.redis?.restart();
    });
  },
};

export const engineCases: readonly Case[] = [killed, frozen, slow, outOfItsMind, locked, diskFull];
