// Tests of two routers that share Redis: a read takes two engine calls, whichever router a worker polls, and no write
// is applied twice.

import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listenOnLoopback, type LoopbackServer } from '../../dev/loopback-server.ts';
import { byDepth } from '../run/depth.ts';
import { requires } from '../run/requirements.ts';
import { type Caller, callerFor } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { type Program, startProgram } from '../stack/program.ts';
import { type RecordingProxy, startRecordingProxy } from '../stack/recording-proxy.ts';
import { type RedisServer, startRedisServer } from '../stack/redis-server.ts';
import { startStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

/** These tests count calls, so no request may fail because the machine is busy. */
const longDeadlines = { CONDUCTOR_TIMEOUTMS: '60000', ROUTER_RESPONSEDEADLINEMS: '60000' };
/** Returns true for calls that do not depend on requests: polls once a second, definition reads once a minute. */
const isBackground = (target: string) => /^\/api\/(metadata|event|tasks\/poll)/.test(target);

describe('two routers with Redis', requires('redis'), () => {
  const done = new Map<string, number>();
  let backEnd: LoopbackServer;
  let redis: RedisServer;
  let engines: RecordingProxy[] = [];
  let stack: Stack;
  let second: Program;
  let balancer: RecordingProxy;
  let callers: Caller[];

  beforeAll(async () => {
    const server = createServer((request, response) => {
      const name = `${request.method} ${request.url}`;
      done.set(name, (done.get(name) ?? 0) + 1);
      request.resume().once('end', () => response.setHeader('content-type', 'application/json').end('{}'));
    });
    backEnd = await listenOnLoopback(server);
    redis = await startRedisServer();
    engines = await Promise.all([0, 1].map(() => startRecordingProxy(engineOfRun().url)));
    const [first, other] = engines.map(({ url }) => ({ ...longDeadlines, CONDUCTOR_URL: url, REDIS_URL: redis.url }));
    const workers = { MOVIES_URL: backEnd.url, ADAPTOR_001_URL: backEnd.url };
    stack = await startStack({
      engineUrl: engineOfRun().url,
      router: first!,
      workers,
      withWorkers: false,
      anyAnswer: true,
    });
    second = await startProgram('gateway/main.ts', { ...stack.routerEnv, ...other });
    const urls = [stack.url, String(second.ready['url'])];
    balancer = await startRecordingProxy(...urls);
    await stack.addWorkers({ CONDUCTOR_APIURL: `${balancer.url}/conductor/api` });
    callers = await Promise.all(urls.map((url) => callerFor(url)));
    await pollUntil('both routers to know of the workers', async () => {
      const { calls } = await callsOf(() => readMany(20, 'first'));
      return calls <= 2.1 * 20;
    });
  });
  afterAll(async () => {
    await stack?.stop();
    await Promise.all([second?.stop(), balancer?.stop(), redis?.stop(), ...engines.map((engine) => engine.stop())]);
    await backEnd?.close();
  });

  /** Sends a number of reads to the routers in turn, eight at a time. */
  async function readMany(count: number, name: string): Promise<void> {
    let next = 0;
    const client = async () => {
      for (let n = next++; n < count; n = next++) {
        const { status, text } = await callers[n % 2]!(`/movies/${name}-${n}`);
        expect(status, text).toBe(200);
      }
    };
    await Promise.all(Array.from({ length: 8 }, client));
  }

  async function callsOf(act: () => Promise<void>) {
    const before = engines.map(({ requests }) => requests.length);
    const startedAt = performance.now();
    await act();
    const targets = engines.flatMap(({ requests }, index) => requests.slice(before[index]).map(({ target }) => target));
    return {
      calls: targets.filter((target) => !isBackground(target)).length,
      statusReads: targets.filter((target) => /^\/api\/workflow\/[^/]+\/status/.test(target)).length,
      polls: targets.filter((target) => target.startsWith('/api/tasks/poll/batch/movies_intake')).length,
      seconds: (performance.now() - startedAt) / 1_000,
    };
  }

  it('a read takes two engine calls', async () => {
    const reads = byDepth(200, 1_000);
    const { calls, statusReads, polls, seconds } = await callsOf(() => readMany(reads, 'counted'));
    process.stdout.write(
      `${(calls / reads).toFixed(3)} engine calls per read, ${(polls / seconds).toFixed(1)} polls/s\n`,
    );
    const startsAndResults = calls - statusReads;
    expect(startsAndResults / reads).toBeGreaterThanOrEqual(2);
    expect(startsAndResults / reads).toBeLessThanOrEqual(2.05);
    // A router also reads the status of an execution that takes much longer than the average, as some do on a busy
    // machine. If wake-ups between the routers failed, half of the reads would need a status read, because the other
    // router receives the results of their tasks.
    expect(statusReads / reads).toBeLessThanOrEqual(0.25);
    // Each router polls the engine once a second, regardless of the load.
    expect(polls).toBeLessThanOrEqual(4 + 2.5 * seconds);
  });

  it('with reads and writes, no write is applied twice, and at most one read in a hundred is sent twice', async () => {
    const writes = byDepth(40, 300);
    const write = async (n: number) => {
      const answer = await callers[n % 2]!(`/adaptor/001/write-${n}`, { method: 'POST', body: 'x' });
      expect(answer.status).toBe(200);
      const read = await callers[(n + 1) % 2]!(`/adaptor/001/read-${n}`);
      expect(read.status).toBe(200);
    };
    const send = async () => {
      for (let n = 0; n < writes; n += 4) await Promise.all([0, 1, 2, 3].map((offset) => write(n + offset)));
    };
    done.clear();
    await Promise.all([send(), readMany(2 * writes, 'between')]);
    const twice = [...done].filter(([, times]) => times > 1).map(([name]) => name);
    process.stdout.write(`${twice.length} of ${done.size} executed twice\n`);
    expect(done.size).toBe(4 * writes);
    expect(twice.filter((name) => name.startsWith('POST'))).toEqual([]);
    expect(twice.length).toBeLessThanOrEqual(0.01 * 3 * writes);
  });

  it('every read gets its response when Redis is lost', async () => {
    await redis.kill();
    await readMany(20, 'without-redis');
    await redis.restart();
    const again = async () => (await callsOf(() => readMany(20, 'again'))).calls <= 42;
    await pollUntil('reads to take two calls again', again);
  });
});
