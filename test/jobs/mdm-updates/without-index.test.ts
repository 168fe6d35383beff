// Tests of starting shares on an engine without an index. Records in a real Redis show which shares were started.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { IndexPresence } from '#lib/conductor/executions/index-presence.ts';
import type { SendRequest } from '#lib/conductor/send-call.ts';
import { createExecutionApi } from '#lib/records/chosen-index.ts';
import { ExecutionRecords } from '#lib/records/execution-records.ts';
import { createRecorder } from '#lib/records/recorder.ts';
import { Redis } from '#lib/redis/redis.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { MessageHandler } from '../../../jobs/mdm-updates/message-handler.ts';
import { type ShareDependencies, startShare } from '../../../jobs/mdm-updates/share-update.ts';
import { MdmDefinitions } from '../../../jobs/reconcile/mdm-definitions.ts';
import { definitionsFor } from '../../lib/conductor/definitions/copy-of-product.ts';
import { type EngineWithoutIndex, engineWithoutIndex } from '../../lib/records/engine-without-index.ts';
import { requires } from '../../run/requirements.ts';
import { type RedisServer, startRedisServer } from '../../stack/redis-server.ts';

const input = {
  misCode: '002',
  sisPersonId: 'B00417733',
  cccid: 'ABC1234',
  requestId: 'u-1',
  sourceExecutionId: 'u-1',
};
const share = { name: 'mdm-shareWF', version: 1, correlationId: 'u-1', input };

let engine: EngineWithoutIndex;
beforeEach(() => void (engine = engineWithoutIndex()));

/** Returns the dependencies of one router. */
function routerWith(records: ExecutionRecords | undefined, call: SendRequest = engine.call): ShareDependencies {
  const presence = new IndexPresence(call);
  return {
    executions: createExecutionApi({ call, presence, records }),
    recorder: createRecorder(records, presence),
  };
}

const sharesStarted = async () => (await new ExecutionApi(engine.call).running(share.name)).length;

/** Returns an engine call that fails each start with this error, before or after the engine has stored the start. */
const failingWith =
  (error: EngineError, { isStored }: { isStored: boolean }): SendRequest =>
  async (request) => {
    if (request.method !== 'POST') return engine.call(request);
    if (isStored) await engine.call(request);
    throw error;
  };

describe('with records', requires('redis'), () => {
  let server: RedisServer;
  let redis: Redis;
  let records: ExecutionRecords;

  beforeAll(async () => {
    server = await startRedisServer();
    redis = new Redis(server.url, createLog('test', 'silent'));
    redis.start();
    await redis.firstAttempt;
  });
  afterAll(async () => {
    await redis?.stop();
    await server?.stop();
  });
  beforeEach(() => {
    records = new ExecutionRecords(redis, {
      keyPrefix: `test:${randomUUID()}:`,
      ...{ maxRecords: 1_000, correlationTtlMs: 60_000 },
    });
  });

  it('does not start a share again when its message is redelivered to another router', async () => {
    await startShare(share, routerWith(records), false);
    await startShare(share, routerWith(records), true);
    expect(await sharesStarted()).toBe(1);
  });

  it('does not start a share again when the response to its start was lost', async () => {
    const lost = failingWith(new EngineError('interrupted', 'lost'), { isStored: true });
    await expect(startShare(share, routerWith(records, lost), false)).rejects.toThrow('lost');
    await startShare(share, routerWith(records), true);
    expect(await sharesStarted()).toBe(1);
  });

  it('starts a share again when nothing was sent, and keeps no record of the first start', async () => {
    const away = failingWith(new EngineError('unreachable', 'away'), { isStored: false });
    await expect(startShare(share, routerWith(records, away), false)).rejects.toThrow('away');
    await redis.run((client) => client.ping());
    expect(await records.starts(Date.now() + 1)).toEqual([]);
    await startShare(share, routerWith(records), true);
    expect(await sharesStarted()).toBe(1);
  });
});

describe('without records', () => {
  it('starts the share of a new message', async () => {
    await startShare(share, routerWith(undefined), false);
    expect(await sharesStarted()).toBe(1);
  });

  it('starts the share of a new message once the engine responds', async () => {
    let isAway = true;
    const call: SendRequest = async (request) => {
      if (isAway && request.method === 'POST') {
        isAway = false;
        throw new EngineError('unreachable', 'away');
      }
      return engine.call(request);
    };
    const definitions = new MdmDefinitions(definitionsFor());
    const handler = new MessageHandler({
      ...routerWith(undefined, call),
      ...{ mdmDefinitions: () => definitions, retryMs: 1, stopping: new AbortController().signal },
      log: createLog('test', 'silent'),
    });
    const { misCode, sisPersonId, cccid, requestId: updateId } = input;
    const body = { misCode, sisPersonId, cccid, updateId };
    expect(await handler.handle({ body, redelivered: false })).toBe('started');
    expect(await sharesStarted()).toBe(1);
  });

  it('does not start the share of a redelivered message, and says what is missing', async () => {
    const started = startShare(share, routerWith(undefined), true);
    await expect(started).rejects.toThrow('the engine has no index of executions');
    await expect(started).rejects.toThrow('set redis.url');
    expect(await sharesStarted()).toBe(0);
  });
});
