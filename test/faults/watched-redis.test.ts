// Tests of a watched Redis: after a kill, it reports how many of the acknowledged marks were lost.

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
    pollUntil(`${least} acknowledged marks`, async () => Number(await server.command('GET', 'faults:mark')) >= least);

  it('loses no mark when it is killed and its append-only file is complete', async () => {
    await untilMarked(3);
    await watched.kill();
    await watched.start();
    await untilMarked(8);
    await watched.kill();
    await watched.start();
    expect(reports).toMatchObject([{ lost: 0, what: 'Redis', appendfsync: 'always' }, { lost: 0 }]);
    for (const { marks, from, to } of reports) expect([marks > 0, from <= to]).toEqual([true, true]);
  });

  it('loses every mark when its append-only file is gone', async () => {
    await untilMarked(3);
    await watched.kill();
    rmSync(join(dir, 'appendonlydir'), { recursive: true });
    await watched.start();
    const [report] = reports;
    expect(report?.marks).toBeGreaterThanOrEqual(3);
    expect(report?.lost).toBe(report?.marks);
  });

  it('reports nothing when it is started without having been killed', async () => {
    await watched.start();
    expect(reports).toEqual([]);
  });
});
