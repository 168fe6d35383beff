// Tests of the stack's own Redis server.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { createClient } from 'redis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findRedisServer, launchRedisServer } from '../../../dev/engine/redis-server.ts';
import { findFreePort } from '../../../dev/setup/ports.mjs';
import { requires } from '../../run/requirements.ts';

it('says what to do when redis-server is not installed', () => {
  expect(() => findRedisServer('/nonexistent')).toThrow(
    /needs redis-server[\s\S]*install it[\s\S]*leave out --store redis[\s\S]*CONDUCTOR_URL/,
  );
});

describe("the stack's own Redis server", requires('redis'), () => {
  let stateDir: string;
  beforeEach(() => (stateDir = mkdtempSync(join(tmpdir(), 'service-router-redis-'))));
  afterEach(() => rmSync(stateDir, { recursive: true }));

  it('keeps its data in the state directory, even when it is killed', async () => {
    const port = await findFreePort();
    const launch = () =>
      launchRedisServer({ command: findRedisServer(), port, stateDir, output: new PassThrough().resume() });
    const first = launch();
    const { url } = await first.ready;
    const client = createClient({ url: String(url) });
    await client.connect();
    await client.set('kept', 'yes');
    expect(await client.configGet('append*')).toMatchObject({ appendonly: 'yes', appendfsync: 'everysec' });
    client.destroy();
    first.kill();
    await first.ended;
    expect(readdirSync(join(stateDir, 'redis'))).toContain('appendonlydir');
    const second = launch();
    await second.ready;
    const again = createClient({ url: String(url) });
    await again.connect();
    expect(await again.get('kept')).toBe('yes');
    again.destroy();
    await second.stop();
  });
});
