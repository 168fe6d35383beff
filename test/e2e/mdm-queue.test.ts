// MDM publishes updates to RabbitMQ, and the engine starts shares for them: on a broker and an engine of this suite's own, both of which are killed.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SyncMessage } from 'rabbitmq-client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Broker, createBroker } from '../rabbitmq/broker.ts';
import { connectMdm, type Mdm, type Update } from '../rabbitmq/mdm.ts';
import { createQueueEngine, type QueueEngine } from '../rabbitmq/queue-engine.ts';
import { call, callerFor } from '../stack/client.ts';
import type { EngineExecution } from '../stack/engine-execution.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { randomOfRun } from '../run/seed.ts';
import { newCccid } from '../stack/new-cccid.ts';
import { requires } from '../run/requirements.ts';

let broker: Broker;
let engine: QueueEngine;
let mdm: Mdm;
let stack: Stack;
const historyDir = mkdtempSync(join(tmpdir(), 'service-router-history-'));
const historyFile = join(historyDir, 'history.jsonl');

beforeAll(async () => {
  broker = await createBroker();
  [engine] = await Promise.all([createQueueEngine(broker.port), broker.start()]);
  await engine.start();
  mdm = await connectMdm(broker);
  stack = await startStack({
    engineUrl: engine.url,
    router: { MDM_UPDATEQUEUE: 'true', RECONCILER_INTERVALMS: '1000', RECONCILER_AFTERMS: '5000' },
    backEnds: { BACKENDS_HISTORY_FILE: historyFile },
  });
}, 240_000);
afterAll(async () => {
  await stack?.stop();
  await mdm?.close();
  await engine?.stop();
  await broker?.remove();
  rmSync(historyDir, { recursive: true, force: true });
}, 60_000);

/** In college 002 and in nobody's crosswalk: MDM has no other opinion on the cccid. */
const person = 'B00422384';
const newUpdate = (given: Partial<Update> = {}): Update => ({
  misCode: '002',
  sisPersonId: person,
  cccid: newCccid('Q'),
  updateId: randomUUID(),
  ...given,
});

interface LogEntry {
  kind: string;
  status: string;
  cccid: string;
}
const reportsOn = async (updateId: string) =>
  (await call(`${stack.backEndsUrl}/mdm/governance-log?executionId=${updateId}`)).json<LogEntry[]>();
const untilShared = (update: Update, timeoutMs = 20_000) =>
  pollUntil(
    `MDM to hear that ${update.updateId} was shared`,
    async () => (await reportsOn(update.updateId)).some(({ kind, status }) => `${kind} ${status}` === 'share shared'),
    { timeoutMs, everyMs: 100 },
  );
const personThere = async (sisPersonId: string) =>
  (await call(`${stack.backEndsUrl}/adaptors/002/mock/colleges/002/persons/${sisPersonId}`)).json<{ cccid: string }>();

async function executionsOf(name: string, updateId: string): Promise<EngineExecution[]> {
  const answer = await call(`${engine.url}/api/workflow/${name}/correlated/${updateId}?includeClosed=true`);
  return answer.json<EngineExecution[]>();
}

/** Lines of the history of the back ends that belong to one update. */
const writesOf = (updateId: string) =>
  readFileSync(historyFile, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { op: string; event: string; method?: string; key?: string })
    .filter(({ op, event, method }) => op === updateId && (event === 'applied' || method === 'PATCH'));

interface QueueCounts {
  ready: number;
  unacknowledged: number;
  consumers: number;
}
async function countsOf(queue: string): Promise<QueueCounts> {
  const columns = ['name', 'messages_ready', 'messages_unacknowledged', 'consumers'];
  const row = (await broker.control('list_queues', ...columns)).find(([name]) => name === queue) ?? [];
  const [ready = 0, unacknowledged = 0, consumers = 0] = row.slice(1).map(Number);
  return { ready, unacknowledged, consumers };
}
/** The broker tells these numbers every few seconds only. */
const untilEmpty = (queue: string) =>
  pollUntil(
    `${queue} to be empty`,
    async () => {
      const { ready, unacknowledged } = await countsOf(queue);
      return ready + unacknowledged === 0;
    },
    { timeoutMs: 30_000, everyMs: 500 },
  );
/** The dead-lettered message that is meant; others before it are taken away. */
const takeDeadLettered = (isMeant: (message: SyncMessage) => boolean) =>
  pollUntil(
    'the dead-lettered message',
    async () => {
      const message = await mdm.takeDeadLettered();
      return message !== undefined && isMeant(message) && message;
    },
    { timeoutMs: 15_000 },
  );
const withId = (id: string) => (message: SyncMessage) => message.messageId === id;
const withUpdateId = (id: string) => (message: SyncMessage) =>
  (message.body as Partial<Update> | null)?.updateId === id;

describe('an update that MDM publishes', requires('full', 'rabbitmq'), () => {
  it('becomes mdm-shareWF in the domain of its college, the adaptor has the cccid, MDM hears of it', async () => {
    const update = newUpdate();
    await mdm.publish(update);
    // The engine's first condition waits for its JavaScript.
    await untilShared(update, 50_000);
    expect(await personThere(person)).toMatchObject({ cccid: update.cccid });
    const [share, ...others] = await executionsOf('mdm-shareWF', update.updateId);
    expect(others).toEqual([]);
    expect(share?.taskToDomain).toEqual({ mdm_share: '002' });
    expect(share?.input).toMatchObject({
      misCode: '002',
      sisPersonId: person,
      cccid: update.cccid,
      requestId: update.updateId,
      sourceExecutionId: update.updateId,
    });
  });

  it('delivered twice with one message id: one share', async () => {
    const update = newUpdate();
    const messageId = randomUUID();
    await mdm.publish(update, { messageId });
    await mdm.publish(update, { messageId });
    await untilShared(update);
    await untilEmpty('mdm.updates.002');
    expect(await executionsOf('mdm-shareWF', update.updateId)).toHaveLength(1);
  });

  it('published again with another message id: a second share with the same key, written once', async () => {
    const update = newUpdate();
    await mdm.publish(update);
    await untilShared(update);
    await mdm.publish(update);
    await pollUntil('both shares', async () => {
      const shares = await executionsOf('mdm-shareWF', update.updateId);
      return shares.length === 2 && shares.every(({ status }) => status === 'COMPLETED');
    });
    const writes = writesOf(update.updateId);
    expect(writes.filter(({ method }) => method === 'PATCH')).toHaveLength(2);
    expect(new Set(writes.map(({ key }) => key)).size).toBe(1);
    expect(writes.filter(({ event }) => event === 'applied')).toHaveLength(1);
  });
});

describe('a message that is no update', requires('full', 'rabbitmq'), () => {
  const text = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
  const poison: [what: string, body: Buffer, why: RegExp][] = [
    ['not JSON', text('<update/>'), /misCode, sisPersonId, cccid, updateId/],
    ['empty', text(''), /misCode, sisPersonId, cccid, updateId/],
    ['null', text('null'), /TypeError/],
    ['without a field', text({ ...newUpdate(), cccid: undefined }), /refused.*: cccid`/],
    ['with a number as a key', text({ ...newUpdate(), sisPersonId: 422384 }), /refused.*: sisPersonId`/],
    ['of another college', text(newUpdate({ misCode: '003' })), /refused.*: misCode`/],
    ['with an expression', text(newUpdate({ cccid: '${workflow.secrets.x}' })), /refused.*: cccid`/],
    ['of 4 MB', text(newUpdate({ sisPersonId: 'x'.repeat(4_000_000) })), /refused.*: sisPersonId`/],
  ];

  it.each(poison)('%s: dead-lettered as rejected, the log says why, the next update goes on', async (...given) => {
    const [, body, why] = given;
    const messageId = randomUUID();
    await mdm.publish(body, { messageId });
    const next = newUpdate();
    await mdm.publish(next);
    const deadLettered = await takeDeadLettered(withId(messageId));
    expect(deadLettered.headers).toMatchObject({
      'x-first-death-queue': 'mdm.updates.002',
      'x-first-death-reason': 'rejected',
      'x-death': [{ count: 1, reason: 'rejected', queue: 'mdm.updates.002', exchange: 'mdm.updates' }],
    });
    await untilShared(next);
    const [reason] = await pollUntil('the reason in the log', () => {
      const [, behind] = engine.log().split(`Error handling message: ${messageId}`);
      return behind?.split('\n').slice(1, 2);
    });
    expect(reason).toMatch(why);
    expect(engine.log()).not.toContain(person);
  });

  it('without a message id: dead-lettered, because the engine could not tell it from another', async () => {
    const update = newUpdate();
    await mdm.publish(update, { messageId: '' });
    const deadLettered = await takeDeadLettered(withUpdateId(update.updateId));
    expect(deadLettered.headers).toMatchObject({ 'x-first-death-reason': 'rejected' });
    expect(deadLettered.body).toEqual(update);
    expect(await executionsOf('mdm-shareWF', update.updateId)).toEqual([]);
  });

  it('for a college that has no queue: dead-lettered by the exchange, with its routing key and no death', async () => {
    const update = newUpdate({ misCode: '999' });
    await mdm.publish(update);
    const deadLettered = await takeDeadLettered(withUpdateId(update.updateId));
    expect(deadLettered).toMatchObject({ exchange: 'mdm.updates', routingKey: '999', body: update });
    expect(deadLettered.headers?.['x-death']).toBeUndefined();
  });

  it('repaired and published again: it is shared', async () => {
    const messageId = randomUUID();
    await mdm.publish(text({ ...newUpdate(), cccid: 17 }), { messageId });
    const deadLettered = await takeDeadLettered(withId(messageId));
    const repaired = { ...(deadLettered.body as Update), cccid: newCccid('Q') };
    await mdm.publish(repaired);
    await untilShared(repaired);
  });
});

describe('nothing is lost', requires('full', 'rabbitmq'), () => {
  beforeEach(async () => {
    await broker.start();
    await engine.start();
  }, 120_000);

  const many = (count: number) => Array.from({ length: count }, () => newUpdate());
  const publishAll = (updates: Update[]) => Promise.all(updates.map((update) => mdm.publish(update)));
  const untilAllShared = async (updates: Update[], timeoutMs: number) => {
    const until = performance.now() + timeoutMs;
    for (const update of updates) await untilShared(update, Math.max(1, until - performance.now()));
  };

  it('the broker killed with messages inside, the engine away: all are shared when both are back', async () => {
    await engine.kill();
    const updates = many(30);
    await publishAll(updates);
    await broker.kill();
    await broker.start();
    await engine.start();
    await untilAllShared(updates, 60_000);
    await untilEmpty('mdm.updates.002');
  }, 240_000);

  it('the broker killed under the engine, back at once: the engine goes on by itself', async () => {
    const updates = many(30);
    const published = publishAll(updates);
    await broker.kill();
    await broker.start();
    await published;
    await untilAllShared(updates, 60_000);
    await untilEmpty('mdm.updates.002');
  }, 240_000);

  it('the broker away for more than a minute, so that the engine asks for it meanwhile: the same', async () => {
    await broker.kill();
    const back = performance.now() + 75_000;
    await pollUntil('75 s without a broker', () => performance.now() > back, { timeoutMs: 90_000, everyMs: 500 });
    await broker.start();
    const updates = many(60);
    await publishAll(updates);
    await untilAllShared(updates, 60_000);
    await untilEmpty('mdm.updates.002');
  }, 300_000);

  it('the engine started before the broker: MDM is told of PATCHes all the same, and updates come once the broker is there', async () => {
    await engine.kill();
    await broker.kill();
    await engine.start();
    const demo = await callerFor(stack.url);
    const cccid = newCccid('Q');
    const answer = await pollUntil('the router to reach the engine again', async () => {
      const patched = await demo('/adaptor/001/mock/colleges/001/persons/0318204', {
        method: 'PATCH',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ cccid }),
      });
      return patched.status === 200 && patched;
    });
    const source = String(answer.headers['x-execution-id']);
    // By its handler, not by the reconciler: after a start the engine looks at its events within half a minute.
    await pollUntil(
      'mdmWF by its handler',
      async () =>
        (await executionsOf('mdmWF', source)).some(
          ({ input }) => input['conductor.event.name'] === 'conductor:college-adaptorWF:person_patched',
        ),
      { timeoutMs: 60_000, everyMs: 250 },
    );
    await broker.start();
    const updates = many(10);
    await publishAll(updates);
    await untilAllShared(updates, 60_000);
  }, 240_000);

  it('the engine killed at random moments while it handles messages: each is shared, by the reconciler if need be', async () => {
    const random = randomOfRun();
    const updates: Update[] = [];
    for (let kill = 0; kill < 4; kill++) {
      const batch = many(40);
      updates.push(...batch);
      await publishAll(batch);
      const until = performance.now() + random.between(0, 700);
      await pollUntil('a random moment', () => performance.now() > until, { everyMs: 1 });
      await engine.kill();
      await engine.start();
    }
    await untilAllShared(updates, 120_000);
    await untilEmpty('mdm.updates.002');
    let repaired = 0;
    for (const { updateId } of updates) {
      const shares = await executionsOf('mdm-shareWF', updateId);
      if (shares.every(({ input }) => input['conductor.event.messageId'] === undefined)) repaired++;
      expect(writesOf(updateId).filter(({ event }) => event === 'applied')).toHaveLength(1);
    }
    process.stderr.write(`killed 4 times over ${updates.length} updates: ${repaired} shares were the reconciler's\n`);
  }, 400_000);
});
