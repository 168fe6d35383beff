// Tests of stopping the consumer of MDM's updates, with a fake broker and a fake engine.

import { createServer, type RequestListener } from 'node:http';
import { Registry } from 'prom-client';
import { expect, it, onTestFinished } from 'vitest';
import type { Config } from '#lib/config/schema.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { listenOnLoopback } from '../../../dev/loopback-server.ts';
import { startMdmUpdates } from '../../../jobs/mdm-updates/index.ts';
import { definitionsFor } from '../../lib/conductor/definitions/copy-of-product.ts';
import { pollUntil } from '../../stack/poll-until.ts';
import { startFakeBroker } from './fake-broker.ts';

/** Less than the two minutes that a stop takes when it waits for the broker's heartbeat. */
const deadlineMs = 20_000;
/** Short, to keep the tests fast. */
const maxDisconnectMs = 200;

const update = { misCode: '002', sisPersonId: 'B00417733', cccid: 'ABC1234', updateId: 'u-1' };

/** Starts a consumer that is ready for messages. */
async function startConsumer(respond: RequestListener = (_request, response) => response.end('id-of-the-share')) {
  const broker = await startFakeBroker();
  const server = createServer(respond);
  const engine = await listenOnLoopback(server);
  onTestFinished(() => engine.close());
  const definitions = definitionsFor();
  const updates = startMdmUpdates(
    {
      config: { 'conductor.url': engine.url, 'conductor.timeoutMs': 60_000 } as unknown as Config,
      definitions: () => definitions,
      ...{ metrics: new Registry(), log: createLog('test', 'silent'), redis: undefined, maxDisconnectMs },
    },
    broker.url,
  );
  await pollUntil('the consumer', () => broker.received.includes('BasicConsume'));
  const engineConnections = () =>
    new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
  const untilDisconnected = () =>
    pollUntil('all connections to close', async () => broker.connections() + (await engineConnections()) === 0);
  return { broker, updates, untilDisconnected };
}

it(
  'a broker that no longer responds does not delay the stop, and the engine client is closed',
  async () => {
    const { broker, updates, untilDisconnected } = await startConsumer();
    broker.deliver(update);
    await pollUntil('the acknowledgement', () => broker.received.includes('BasicAck'));
    broker.freeze();
    await updates.stop();
    await untilDisconnected();
  },
  deadlineMs,
);

it(
  'a broker that disconnects while the consumer stops does not fail the stop, and the engine client is closed',
  async () => {
    const { broker, updates, untilDisconnected } = await startConsumer();
    broker.deliver(update);
    await pollUntil('the acknowledgement', () => broker.received.includes('BasicAck'));
    broker.freeze();
    const stopped = updates.stop();
    await pollUntil('the cancellation', () => broker.received.includes('BasicCancel'));
    broker.disconnect();
    await stopped;
    await untilDisconnected();
  },
  deadlineMs,
);

it(
  'a message whose share is being started is acknowledged, however slow the engine is',
  async () => {
    let respond: (() => void) | undefined;
    const { broker, updates, untilDisconnected } = await startConsumer((_request, response) => {
      respond = () => response.end('id-of-the-share');
    });
    broker.deliver(update);
    const start = await pollUntil('the start of the share', () => respond);
    const stopped = updates.stop();
    const until = performance.now() + 2 * maxDisconnectMs;
    await pollUntil('more time to pass than a disconnect may take', () => performance.now() > until);
    start();
    await stopped;
    await untilDisconnected();
    expect(broker.received).toContain('BasicAck');
  },
  deadlineMs,
);
