// Tests of the connection to other routers through Redis, where the ACL of the user may forbid the channels.

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Redis } from '#lib/redis/redis.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { RedisPeers } from '../../../../plugins/conductor/dispatch/redis-peers.ts';
import { requires } from '../../../run/requirements.ts';
import { pollUntil } from '../../../stack/poll-until.ts';
import { type RedisServer, startRedisServer } from '../../../stack/redis-server.ts';

const log = createLog('test', 'silent');

describe('the connection to other routers', requires('redis'), () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server?.stop());

  /** Connects as a user who may use only the channels that these ACL rules allow. */
  async function connect(...channels: string[]) {
    await server.command('ACL', 'SETUSER', 'limited', 'reset', 'on', '>secret', '~*', '+@all', ...channels);
    const url = new URL(server.url);
    [url.username, url.password] = ['limited', 'secret'];
    const redis = new Redis(url.href, log);
    redis.start();
    await redis.firstAttempt;
    const peers = new RedisPeers({ redis, log, wakeUp: () => undefined, dispatch: () => undefined });
    onTestFinished(async () => {
      peers.stop();
      await redis.stop();
    });
    return { redis, peers };
  }

  it('is established when all channels are subscribed, and again after an outage of Redis', async () => {
    const { redis, peers } = await connect('&service-router:*');
    await pollUntil('the connection', () => peers.isConnected);
    await server.kill();
    await pollUntil('the outage to be noticed', () => !redis.isResponding);
    expect(peers.isConnected).toBe(false);
    await server.restart();
    // Redis does not store the ACL with its data.
    await server.command('ACL', 'SETUSER', 'limited', 'reset', 'on', '>secret', '~*', '+@all', '&service-router:*');
    await pollUntil('the connection', () => peers.isConnected);
  });

  it.each([
    ['every channel', []],
    ['one of the channels', ['&service-router:hints', '&service-router:dispatch']],
  ])('is not established when the ACL forbids %s, although Redis responds', async (_title, channels) => {
    const { redis, peers } = await connect(...channels);
    // Redis replies in the order of the commands.
    await redis.run((client) => client.ping());
    expect([redis.isResponding, peers.isConnected]).toEqual([true, false]);
    await server.command('CLIENT', 'KILL', 'USER', 'limited');
    await pollUntil('the outage to be noticed', () => !redis.isResponding);
    await pollUntil('Redis to respond', () => redis.isResponding);
    expect(peers.isConnected).toBe(false);
  });
});
