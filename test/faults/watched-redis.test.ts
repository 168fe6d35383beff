// Tests of a watched Redis: after a kill it reports how many of the acknowledged marks it still has.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { requires } from '../run/requirements.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { type RedisServer, startRedisServer } from '../stack/redis-server.ts';
import { type Restarted, type WatchedRedis, watchRedis } from './watched-redis.ts';

describe('a watched Redis', requires('redis'), () => {
  const dir = mkdtempSync(join(tmpdir(), 'service-router-watched-'));
  let server: RedisServer;
  let watched: WatchedRedis;
  let reports: Restarted[];

  beforeEach(async () => {
    reports = [];
    server = await startRedisServer({ dir, appendfsync: 'always' });
    const report = (restarted: Restarted) => reports.push(restarted);
    watched = await watchRedis(server, { name: 'Redis', appendfsync: 'always', report });
  });
  afterEach(async () => {
    await watched.stop();
    await server.stop();
  });

  const untilMarked = (least: number) =>
    pollUntil('marks', async () => Number(await server.command('GET', 'faults:mark')) >= least);

  it('whose file is complete has lost nothing after each kill', async () => {
    await untilMarked(3);
    await watched.kill();
    await watched.start();
    await untilMarked(8);
    await watched.kill();
    await watched.start();
    expect(reports).toMatchObject([{ lost: 0, what: 'Redis', appendfsync: 'always' }, { lost: 0 }]);
    for (const { marks, from, to } of reports) expect([marks > 0, from <= to]).toEqual([true, true]);
  });

  it('whose file is gone has lost every mark', async () => {
    await untilMarked(3);
    await watched.kill();
    rmSync(join(dir, 'appendonlydir'), { recursive: true });
    await watched.start();
    const [report] = reports;
    expect(report?.marks).toBeGreaterThanOrEqual(3);
    expect(report?.lost).toBe(report?.marks);
  });

  it('that is started without having been killed reports nothing', async () => {
    await watched.start();
    expect(reports).toEqual([]);
  });
});
