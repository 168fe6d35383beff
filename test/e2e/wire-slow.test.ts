// Tests of slow clients and of many clients: they are limited in time and number, and do not affect other clients.

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readCount } from '../stack/metrics.ts';
import { shareStack, type Stack, untilReady } from '../stack/stack.ts';
import { type Caller, callerFor, tokenOf } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { startProgram } from '../stack/program.ts';
import { startRunningClock } from '../stack/running-clock.ts';
import { attack, attackTogether } from '../wire/slow-clients.ts';
import { measureWhile } from '../wire/others.ts';
import { codeOf } from '../wire/play-case.ts';
import { RawConnection } from '../wire/raw-client.ts';
import { engineOfRun } from './engine-of-run.ts';
import { requires } from '../run/requirements.ts';

const maxConnections = 300;
const productionLimits = {
  ROUTER_HEADERSTIMEOUTMS: '10000',
  ROUTER_REQUESTTIMEOUTMS: '30000',
  ROUTER_KEEPALIVETIMEOUTMS: '65000',
  ROUTER_RESPONSESENDTIMEOUTMS: '30000',
  ROUTER_MAXCONNECTIONS: '4000',
};
let stack: Stack;
/** A client whose id differs from that of the attackers, which use `demo`. */
let other: Caller;
let token: string;

beforeAll(async () => {
  stack = await shareStack({
    engineUrl: engineOfRun().url,
    router: {
      ROUTER_HEADERSTIMEOUTMS: '1500',
      ROUTER_REQUESTTIMEOUTMS: '3000',
      ROUTER_KEEPALIVETIMEOUTMS: '1000',
      ROUTER_RESPONSESENDTIMEOUTMS: '2000',
      ROUTER_MAXCONNECTIONS: String(maxConnections),
    },
  });
  token = await tokenOf(stack.url);
  other = await callerFor(stack.url, 'reader');
});
afterAll(() => stack?.stop());

const metric = (name: string) => readCount(stack.operationsUrl, name);

describe('a slow client', () => {
  it.each([
    ['sends nothing', 'silent'],
    ['sends its header byte by byte', 'slow-header'],
    ['sends its body byte by byte', 'slow-body'],
    ['sends its chunks byte by byte', 'slow-chunks'],
  ] as const)('%s → 408, and the connection is closed', async (_title, kind) => {
    const clock = startRunningClock();
    onTestFinished(clock.stop);
    const attacker = attack(stack.url, kind, token);
    const answer = await attacker.connection.answer();
    expect([answer.status, codeOf(answer)]).toEqual([408, 'request-timeout']);
    expect(clock.elapsedMs(), 'sooner than the default deadlines').toBeLessThan(8_000);
    await attacker.connection.end();
    attacker.stop();
  });

  it('sends no further request after a response → the connection is closed', async () => {
    const connection = new RawConnection(stack.url);
    connection.send('GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n');
    expect((await connection.answer()).status).toBe(404);
    await connection.end();
    connection.destroy();
  });
});

describe('a crowd', () => {
  it('of silent connections is bounded, and each new client is served', async () => {
    const crowd = Array.from({ length: 2 * maxConnections }, () => attack(stack.url, 'silent', token));
    expect((await other('/movies/seven%20samurai')).status).toBe(200);
    expect(await metric('router_connections')).toBeLessThanOrEqual(maxConnections);
    for (const attacker of crowd) attacker.stop();
    expect(await metric('router_connections_closed_total{reason="evicted"}')).toBeGreaterThan(0);
  });

  it('of slow bodies is bounded, and each new client is served', async () => {
    const crowd = Array.from({ length: 2 * maxConnections }, () => attack(stack.url, 'slow-body', token));
    expect((await other('/movies/seven%20samurai')).status).toBe(200);
    expect(await metric('router_connections')).toBeLessThanOrEqual(maxConnections);
    for (const attacker of crowd) attacker.stop();
  });

  it('of attackers of every kind: other clients get all their responses', async () => {
    const attackers = attackTogether(stack.url, 100, token);
    const times = await measureWhile(other, 40);
    for (const attacker of attackers) attacker.stop();
    expect(times.failed).toEqual([]);
  });

  it(
    'of 5,000 connections, with production limits, is bounded, and other clients get all their responses',
    { ...requires('full', 'open-files'), timeout: 280_000 },
    async () => {
      await stack.router.stop();
      await stack.restartRouter(productionLimits);
      await untilReady(stack);
      const calm = await measureWhile(other, 150);
      const crowd = await startProgram('test/wire/crowd.ts', {
        CROWD_URL: stack.url,
        CROWD_TOKEN: token,
        CROWD_SIZE: '5000',
      });
      const meanwhile = await measureWhile(other, 150);
      const open = await metric('router_connections');
      await crowd.stop();
      const afterwards = await measureWhile(other, 150);
      process.stderr.write(`${JSON.stringify({ open, calm, meanwhile, afterwards })}\n`);
      expect(open).toBeLessThanOrEqual(4_000);
      expect(meanwhile.failed).toEqual([]);
      expect(afterwards.failed).toEqual([]);
    },
  );

  it('leaves no connections and no requests behind', async () => {
    await pollUntil('connections to be closed', async () => (await metric('router_connections')) < 30);
    expect(await metric('router_http_requests_in_flight')).toBeLessThan(30);
  });
});
