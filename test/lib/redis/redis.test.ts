// Tests of the connection to Redis, with a server that hangs, is killed, and is restarted.

import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Redis, type RedisOptions } from '#lib/redis/redis.ts';
import type { RedisClient, RedisCommand } from '#lib/redis/redis-command.ts';
import { RedisUnavailable } from '#lib/redis/redis-unavailable.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { RedisIdempotencyLocks } from '../../../plugins/conductor/idempotency/redis-idempotency-locks.ts';
import { RedisConcurrencyStore } from '../../../plugins/limits/store/concurrency-store.ts';
import { findFreePort } from '../../../dev/setup/ports.mjs';
import { pollUntil } from '../../stack/poll-until.ts';
import { type RedisServer, startRedisServer } from '../../stack/redis-server.ts';
import { requires } from '../../run/requirements.ts';

const lines: string[] = [];
const note = (_fields: unknown, message?: string) => void lines.push(message ?? String(_fields));
const log = { warn: note, info: note } as unknown as Logger;
const notAnswering = 'Redis does not respond; reconnecting every second';
const again = 'Redis responds again';
const refused = 'Redis refuses a command; its connection stays in use';

const opened: Redis[] = [];
async function open(url: string, options: RedisOptions = {}): Promise<Redis> {
  const redis = new Redis(url, log, options);
  opened.push(redis);
  redis.start();
  await redis.firstAttempt;
  return redis;
}
afterEach(async () => {
  for (const redis of opened.splice(0)) await redis.stop();
  lines.length = 0;
});

const set: RedisCommand<unknown> = (client) => client.set('counted', '1');
const failureOf = (answer: Promise<unknown>) =>
  answer.then(
    () => undefined,
    (error: unknown) => error,
  );
/**
 * Expects at least this many outages, each logged once with its recovery, and exactly these other log lines. On a busy
 * machine, a late reply counts as another outage.
 */
function expectLog(outages: number, others: readonly string[] = []): void {
  const isOfOutage = (line: string): boolean => [notAnswering, again].includes(line);
  const seen = lines.filter(isOfOutage);
  const pairs = Array.from({ length: Math.max(outages, seen.length / 2) }, () => [notAnswering, again]);
  expect(seen).toEqual(pairs.flat());
  expect(lines.filter((line) => !isOfOutage(line))).toEqual(others);
}
const untilResponding = (redis: Redis) => pollUntil('Redis to respond', () => redis.isResponding);

it('rejects commands without sending them while nothing listens', async () => {
  const redis = await open(`redis://127.0.0.1:${await findFreePort()}`);
  expect(redis.isResponding).toBe(false);
  expect(await failureOf(redis.run(set))).toMatchObject({ name: 'RedisUnavailable', mayHaveRun: false });
  expect(lines).toEqual([notAnswering]);
});

it('start throws when the URL is malformed', () => {
  expect(() => new Redis('redis://:%zz@127.0.0.1:1', log).start()).toThrow(URIError);
});

describe('the connection to Redis', requires('redis'), () => {
  let server: RedisServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await startRedisServer();
  });
  beforeEach(async () => {
    redis = await open(server.url);
  });
  afterEach(async () => {
    server.resume();
  });
  afterAll(() => server?.stop());

  /** Returns the URL for a Redis user who may run every command on every key, subject to these further ACL rules. */
  async function urlOfUser(...rules: string[]): Promise<string> {
    await server.command('ACL', 'SETUSER', 'limited', 'reset', 'on', '>secret', '~*', '+@all', ...rules);
    const url = new URL(server.url);
    [url.username, url.password] = ['limited', 'secret'];
    return url.href;
  }

  it('rejects pending commands at the deadline, and sends no further ones while Redis hangs', async () => {
    const before = await server.calls('set');
    server.hang();
    const pending = await Promise.all([1, 2, 3].map(() => failureOf(redis.run(set))));
    expect(pending).toEqual([1, 2, 3].map(() => expect.objectContaining({ mayHaveRun: true })));
    const later = await Promise.all(Array.from({ length: 1_000 }, () => failureOf(redis.run(set))));
    expect(later.every((error) => error instanceof RedisUnavailable && !error.mayHaveRun)).toBe(true);
    await redis.stop();
    server.resume();
    expect((await server.calls('set')) - before).toBe(3);
  });

  it('detects a hang and a recovery even without commands', async () => {
    server.hang();
    await pollUntil('the hang to be noticed', () => !redis.isResponding);
    server.resume();
    await untilResponding(redis);
    expect(await redis.run(set)).toBe('OK');
  });

  it('logs each outage and each recovery once, whether Redis hangs or is killed', async () => {
    for (const outage of ['hang', 'kill', 'hang'] as const) {
      await server[outage]();
      await failureOf(redis.run(set));
      await pollUntil('the outage to be noticed', () => !redis.isResponding);
      await failureOf(redis.run(set));
      if (outage === 'kill') await server.restart();
      else server.resume();
      await untilResponding(redis);
    }
    expectLog(3);
  });

  it('gives up on a connection attempt that gets no response, and connects once Redis responds', async () => {
    server.hang();
    const second = new Redis(server.url, log);
    opened.push(second);
    second.start();
    await second.firstAttempt;
    expect(second.isResponding).toBe(false);
    server.resume();
    await untilResponding(second);
  });

  it('treats an error reply as an outage until a command succeeds', async () => {
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    expect(await failureOf(redis.run(set))).toBeInstanceOf(RedisUnavailable);
    expect(redis.isResponding).toBe(false);
    await server.command('CONFIG', 'SET', 'maxmemory', '0');
    await untilResponding(redis);
    expectLog(1);
  });

  it('with worksWhenFull, connects to a full Redis, reads and deletes, and rejects only commands that need memory', async () => {
    onTestFinished(async () => void (await server.command('CONFIG', 'SET', 'maxmemory', '0')));
    const key = randomUUID();
    await redis.run((client) => client.set(key, 'old'));
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    const full = await open(server.url, { worksWhenFull: true });
    expect(await full.run((client) => client.get(key))).toBe('old');
    expect(await failureOf(full.run(set))).toMatchObject({ name: 'RedisUnavailable', mayHaveRun: true });
    let dropped = 0;
    await full.runEventually(set, () => dropped++);
    expect(dropped).toBe(1);
    expect(await full.run((client) => client.del(key))).toBe(1);
    // One log line is about the script of the connection attempt, the other about the command.
    expectLog(0, [refused, refused]);
  });

  it.each([
    ['scripts', ['-eval', '-evalsha']],
    ['the key of the script', ['resetkeys', '~counted']],
  ])('connects although the ACL forbids %s with which the end of an outage is detected', async (_, rules) => {
    const limited = await open(await urlOfUser(...rules));
    expect(limited.isResponding).toBe(true);
    expect(await limited.run(set)).toBe('OK');
    expectLog(0, [refused]);
  });

  it.each([
    ['a command that the ACL forbids', '-publish', (client: RedisClient) => client.publish('channel', 'hello')],
    [
      'a script with a command that the ACL forbids',
      '-zadd',
      (client: RedisClient) => client.eval(`return redis.call('zadd', 'a', 1, 'b')`),
    ],
    ['a command on a value of another type', '', (client: RedisClient) => client.lPush('counted', '1')],
  ])('rejects %s, logs it once, and stays connected', async (_, rule, command) => {
    const limited = await open(await urlOfUser('&*', ...rule.split(' ').filter(Boolean)));
    await limited.run(set);
    for (let attempt = 0; attempt < 2; attempt++) {
      expect(await failureOf(limited.run(command))).toMatchObject({ name: 'RedisUnavailable', mayHaveRun: true });
    }
    expect(await limited.run(set)).toBe('OK');
    expectLog(0, [refused]);
  });

  it('reconnects although the ACL forbids its channels, which is the default for new users since Redis 7', async () => {
    const limited = await open(await urlOfUser());
    limited.subscribe('wake-ups', () => undefined);
    await pollUntil('the refusal', () => lines.length === 1);
    await server.command('CLIENT', 'KILL', 'USER', 'limited');
    await pollUntil('the outage to be noticed', () => !limited.isResponding);
    await untilResponding(limited);
    expect(await limited.run(set)).toBe('OK');
    expect(lines).toEqual([refused, notAnswering, again]);
  });

  it('rethrows a programming error in a command, and stays connected', async () => {
    const mistake = (): Promise<never> => Promise.reject(new TypeError('no string'));
    expect(await failureOf(redis.run(mistake))).toBeInstanceOf(TypeError);
    expect([redis.isResponding, lines]).toEqual([true, []]);
  });

  it('rejects commands at once while 10,000 are pending', async () => {
    server.hang();
    const failures = await Promise.all(Array.from({ length: 10_010 }, () => failureOf(redis.run(set))));
    expect(failures.filter((error) => (error as RedisUnavailable).mayHaveRun)).toHaveLength(10_000);
  });

  it('postpones a command that Redis rejects because its memory is full', async () => {
    const key = randomUUID();
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    await redis.runEventually((client) => client.set(key, 'late'));
    await server.command('CONFIG', 'SET', 'maxmemory', '0');
    await pollUntil('the postponed command', async () => (await server.command('GET', key)) === 'late');
  });

  it('runs postponed commands when the outage is over', async () => {
    const key = randomUUID();
    server.hang();
    await redis.runEventually((client) => client.set(key, 'late'));
    server.resume();
    await pollUntil('the postponed command', async () => (await server.command('GET', key)) === 'late');
  });

  it('drops releases first while 10,000 commands are postponed, and reports which other commands it drops', async () => {
    const [key, released] = [randomUUID(), randomUUID()];
    const dropped: number[] = [];
    server.hang();
    await pollUntil('the outage to be noticed', () => !redis.isResponding);
    const push = (index: number) =>
      redis.runEventually(
        (client) => client.rPush(key, String(index)),
        () => dropped.push(index),
      );
    await Promise.all(Array.from({ length: 5_000 }, (_, index) => push(index)));
    await redis.runEventually((client) => client.set(released, 'late'));
    await Promise.all(Array.from({ length: 5_001 }, (_, index) => push(5_000 + index)));
    expect(dropped).toEqual([0]);
    server.resume();
    await pollUntil('the other commands', async () => (await server.command('LINDEX', key, '-1')) === '10000');
    expect(await server.command('LINDEX', key, '0')).toBe('1');
    expect(await server.command('EXISTS', released)).toBe(0);
  });

  it('reports the postponed commands that it drops when it stops during an outage', async () => {
    let dropped = 0;
    server.hang();
    await redis.runEventually(set, () => dropped++);
    await redis.stop();
    expect(dropped).toBe(1);
  });

  it('postpones a command while 10,000 are pending, and runs it before later ones, without an outage', async () => {
    const key = randomUUID();
    const { promise, resolve } = Promise.withResolvers<void>();
    const pending = Array.from({ length: 10_000 }, () => redis.run(() => promise));
    const first = redis.runEventually((client) => client.rPush(key, 'first'));
    resolve();
    await Promise.all([...pending, first]);
    await redis.runEventually((client) => client.rPush(key, 'second'));
    await pollUntil('both commands', async () => (await server.command('LLEN', key)) === 2);
    expect(await server.command('LRANGE', key, '0', '-1')).toEqual(['first', 'second']);
    expect(lines).toEqual([]);
  });

  it('resolves only once the command has run, even if earlier ones were postponed while Redis responded', async () => {
    const key = randomUUID();
    const { promise, resolve } = Promise.withResolvers<void>();
    const pending = Array.from({ length: 10_000 }, () => redis.run(() => promise));
    const first = redis.runEventually((client) => client.set(randomUUID(), 'first'));
    resolve();
    await Promise.all(pending);
    await redis.runEventually((client) => client.set(key, 'second'));
    expect(await redis.run((client) => client.get(key))).toBe('second');
    await first;
  });

  it('sends postponed commands in their order after an outage, even if a second outage interrupts them', async () => {
    const key = randomUUID();
    server.hang();
    await Promise.all(
      Array.from({ length: 1_000 }, (_, index) => redis.runEventually((client) => client.rPush(key, String(index)))),
    );
    // The first batch is sent when the outage ends, and fails again.
    server.resume();
    await untilResponding(redis);
    server.hang();
    await pollUntil('the second outage', () => !redis.isResponding);
    server.resume();
    // A command whose reply was lost runs twice.
    const values = await pollUntil('all commands', async () => {
      const seen = new Set((await server.command('LRANGE', key, '0', '-1')) as string[]);
      return seen.size === 1_000 && seen;
    });
    const firsts = [...values].map(Number);
    expect(firsts).toEqual(Array.from({ length: 1_000 }, (_, index) => index));
  });

  it('runs postponed commands before it stops', async () => {
    const key = randomUUID();
    const { promise, resolve } = Promise.withResolvers<void>();
    const pending = Array.from({ length: 10_000 }, () => redis.run(() => promise));
    void redis.runEventually((client) => client.set(key, 'late'));
    resolve();
    await Promise.all(pending);
    await redis.stop();
    expect(await server.command('GET', key)).toBe('late');
  });

  it('receives messages of a channel again after an outage, until it unsubscribes', async () => {
    const channel = randomUUID();
    const heard: string[] = [];
    const unsubscribe = redis.subscribe(channel, (message) => void heard.push(message));
    for (const word of ['before', 'after']) {
      await pollUntil(`the message "${word}"`, async () => {
        await server.command('PUBLISH', channel, word);
        return heard.includes(word);
      });
      await server.kill();
      await server.restart();
      await untilResponding(redis);
    }
    unsubscribe();
    await pollUntil(
      'the channel to have no subscriber',
      async () => (await server.command('PUBLISH', channel, 'last')) === 0,
    );
  });

  it('stops while Redis hangs, with commands pending', async () => {
    server.hang();
    const pending = failureOf(redis.run(set));
    await redis.stop();
    expect(await pending).toBeInstanceOf(RedisUnavailable);
  });

  it('completes pending commands before it stops', async () => {
    const pending = redis.run(set);
    await redis.stop();
    expect(await pending).toBe('OK');
  });

  it('releases a lock and a permit that Redis granted after their requests had failed', async () => {
    const [name, key] = [randomUUID(), randomUUID()];
    const places = new RedisConcurrencyStore(redis, 600_000);
    server.hang();
    const [lock, place] = [
      failureOf(new RedisIdempotencyLocks(redis, 600_000).acquire(name)),
      failureOf(places.acquire(key, 1)),
    ];
    expect([await lock, await place]).toEqual([
      expect.objectContaining({ code: 'idempotency-unavailable' }),
      expect.any(RedisUnavailable),
    ]);
    server.resume();
    await untilResponding(redis);
    const other = new RedisIdempotencyLocks(await open(server.url), 600_000);
    const taken = await pollUntil('the lock to be free', () => other.acquire(name));
    taken.release();
    await pollUntil('the permit to be free', () => places.acquire(key, 1));
  });
});
