// Tests of the readiness notices about the consumer of MDM's updates.

import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { watchConsumer } from '../../../jobs/mdm-updates/notice.ts';

it('reports an unavailable broker and a missing queue, and nothing once the queue is consumed', () => {
  const [connection, consumer] = [new EventEmitter(), new EventEmitter()];
  const notice = watchConsumer({ connection, consumer, queue: 'mdm.updates', log: createLog('test', 'silent') });
  const away = [expect.stringContaining('the broker')];
  expect(notice()).toEqual(away);
  connection.emit('connection');
  expect(notice()).toEqual([]);
  consumer.emit('error', new Error("NOT_FOUND - no queue 'mdm.updates' in vhost '/'"));
  expect(notice()).toEqual([expect.stringContaining('queue mdm.updates')]);
  consumer.emit('ready');
  expect(notice()).toEqual([]);
  connection.emit('error', new Error('gone'));
  expect(notice()).toEqual(away);
});
