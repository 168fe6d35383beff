// Tests of the addresses that a running stack publishes for the CLI.

import { describe, expect, it } from 'vitest';
import { addressesOf } from '../../../dev/stack/addresses.ts';
import { readSettings } from '../../../dev/stack/options.ts';

const ports = { ROUTER_PORT: '1', OPS_PORT: '2', CONDUCTOR_PORT: '3', IDP_PORT: '4', BACKENDS_PORT: '5' };

describe('the addresses of a stack', () => {
  it('follow from its ports, with the database of its own engine', async () => {
    expect(addressesOf(await readSettings({ ...ports, STATE_DIR: '/tmp/a-stack' }))).toEqual({
      pid: process.pid,
      startedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      router: 'http://127.0.0.1:1',
      operations: 'http://127.0.0.1:2',
      engine: 'http://127.0.0.1:3',
      identityProvider: 'http://127.0.0.1:4',
      audience: 'urn:service-router',
      backEnds: 'http://127.0.0.1:5',
      engineDatabase: 'sqlite:/tmp/a-stack/engine/conductor.db',
    });
  });

  it('contain no credentials, and no database of a given engine', async () => {
    const env = { CONDUCTOR_URL: 'http://user:hidden@engine.example:9000', CONDUCTOR_DATABASEURL: 'sqlite:/tmp/x.db' };
    const addresses = addressesOf(await readSettings(env));
    expect(addresses.engine).toBe('http://engine.example:9000');
    expect(addresses).not.toHaveProperty('engineDatabase');
    const database = { CONDUCTOR_DATABASEURL: 'postgresql://user:hidden@127.0.0.1/conductor' };
    expect(JSON.stringify([addresses, addressesOf(await readSettings(database))])).not.toMatch(/hidden|secret/);
  });

  it('name the Redis of the router and the prefix of its records, whichever engine it uses', async () => {
    const redis = { REDIS_URL: 'redis://cache.example:1', RECORDS_KEYPREFIX: 'mine:' };
    const published = { redis: 'redis://cache.example:1', recordsKeyPrefix: 'mine:' };
    expect(addressesOf(await readSettings(redis, { store: 'redis' }))).toMatchObject(published);
    const engine = { CONDUCTOR_URL: 'http://engine.example:9000' };
    expect(addressesOf(await readSettings({ ...engine, ...redis }))).toMatchObject(published);
    const own = await readSettings({}, { store: 'redis' });
    expect(addressesOf(own).redis).toBe(`redis://127.0.0.1:${own.redisPort}`);
  });

  it('leave out a Redis URL with a password', async () => {
    const addresses = addressesOf(await readSettings({ REDIS_URL: 'redis://:hidden@cache.example:1' }));
    expect(addresses).not.toHaveProperty('redis');
    expect(addresses).toMatchObject({ recordsKeyPrefix: 'service-router:records:' });
  });

  it('name the given identity provider, but no audience', async () => {
    const addresses = addressesOf(await readSettings({ OAUTH_ISSUER: 'https://login.example' }));
    expect(addresses.identityProvider).toBe('https://login.example');
    expect(addresses).not.toHaveProperty('audience');
  });
});
