// Tests of the updates that MDM sends through RabbitMQ: routers start a share for each update. This file has its own
// broker, engine and routers, because it kills all of them.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SyncMessage } from 'rabbitmq-client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Broker, createBroker } from '../rabbitmq/broker.ts';
import { connectMdm, type Mdm, type Update } from '../rabbitmq/mdm.ts';
import { type FaultEngine, startFaultEngine } from '../faults/engine.ts';
import { call, callerFor } from '../stack/client.ts';
import type { EngineExecution } from '../stack/engine-api.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { preparedFolder } from '../stack/prepared-engine.ts';
import { type Program, startProgram } from '../stack/program.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { randomOfRun } from '../run/seed.ts';
import { newCccid } from '../stack/new-cccid.ts';
import { requires } from '../run/requirements.ts';

let broker: Broker;
let engine: FaultEngine;
let mdm: Mdm;
let stack: Stack;
const historyDir = mkdtempSync(join(tmpdir(), 'service-router-history-'));
const historyFile = join(historyDir, 'history.jsonl');

beforeAll(async () => {
  broker = await createBroker();
  [engine] = await Promise.all([startFaultEngine('sqlite', { templateDir: preparedFolder() }), broker.start()]);
  mdm = await connectMdm(broker);
  stack = await startStack({
    engineUrl: engine.url,
    router: {
      MDM_UPDATEQUEUEURL: broker.url('router'),
      RECONCILER_INTERVALMS: '1000',
      RECONCILER_AFTERMS: '5000',
    },
    backEnds: { BACKENDS_HISTORY_FILE: historyFile },
  });
});
afterAll(async () => {
  await stack?.stop();
  await mdm?.close();
  await engine?.stop();
  await broker?.remove();
  rmSync(historyDir, { recursive: true, force: true });
});

/** A person of college 002 who is not in the crosswalk, so that MDM has no other cccid for the person. */
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

/** Returns the writes for one update from the history of the back ends. */
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
/** Waits until the queue is empty; the broker updates its counts only every few seconds. */
const untilEmpty = (queue: string) =>
  pollUntil(
    `${queue} to be empty`,
    async () => {
      const { ready, unacknowledged } = await countsOf(queue);
      return ready + unacknowledged === 0;
    },
    { everyMs: 500 },
  );
/** Takes dead-lettered messages until one matches, and returns it. */
const takeDeadLettered = (isMeant: (message: SyncMessage) => boolean) =>
  pollUntil('the dead-lettered message', async () => {
    const message = await mdm.takeDeadLettered();
    return message !== undefined && isMeant(message) && message;
  });
const withId = (id: string) => (message: SyncMessage) => message.messageId === id;

describe('an update that MDM publishes', requires('full', 'rabbitmq'), () => {
  it('starts mdm-shareWF in the domain of its college: the adaptor gets the cccid, and MDM is notified', async () => {
    const update = newUpdate();
    await mdm.publish(update);
    await untilShared(update);
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

  it('starts a second share with the same key when published again, and is written once', async () => {
    const update = newUpdate();
    await mdm.publish(update);
    await untilShared(update);
    await mdm.publish(update);
    await pollUntil('both shares to complete', async () => {
      const shares = await executionsOf('mdm-shareWF', update.updateId);
      return shares.length === 2 && shares.every(({ status }) => status === 'COMPLETED');
    });
    const writes = writesOf(update.updateId);
    expect(writes.filter(({ method }) => method === 'PATCH')).toHaveLength(2);
    expect(new Set(writes.map(({ key }) => key)).size).toBe(1);
    expect(writes.filter(({ event }) => event === 'applied')).toHaveLength(1);
  });
});

describe('a message that is not an update', requires('full', 'rabbitmq'), () => {
  const text = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
  const all = 'misCode is missing, sisPersonId is missing, cccid is missing, updateId is missing';
  const rejected: [what: string, body: Buffer, why: string][] = [
    ['not JSON', text('<update/>'), 'not a JSON object'],
    ['empty', text(''), 'not a JSON object'],
    ['null', text('null'), 'not a JSON object'],
    ['an empty object', text({}), all],
    ['without a field', text({ ...newUpdate(), cccid: undefined }), 'cccid'],
    ['with a number as sisPersonId', text({ ...newUpdate(), sisPersonId: 422384 }), 'sisPersonId'],
    ['with an expression', text(newUpdate({ cccid: '${workflow.secrets.x}' })), 'cccid'],
    ['of 4 MB', text(newUpdate({ sisPersonId: 'x'.repeat(4_000_000) })), 'sisPersonId'],
    ['for a college that is not connected', text(newUpdate({ misCode: '999' })), 'misCode: no event handler'],
  ];

  it.each(rejected)('%s: is dead-lettered, the log says why, and the next update is shared', async (...given) => {
    const [, body, why] = given;
    const messageId = randomUUID();
    await mdm.publish(body, { messageId });
    const next = newUpdate();
    await mdm.publish(next);
    const deadLettered = await takeDeadLettered(withId(messageId));
    expect(deadLettered.headers).toMatchObject({
      'x-first-death-queue': 'mdm.updates',
      'x-first-death-reason': 'rejected',
      'x-death': [{ count: 1, reason: 'rejected', queue: 'mdm.updates', exchange: 'mdm.updates' }],
    });
    await untilShared(next);
    const line = stack.router
      .output()
      .split('\n')
      .find((each) => each.includes(messageId));
    expect(line).toContain(`"reason":"${why}`);
    expect(stack.router.output()).not.toContain(person);
  });

  it('is shared after it is repaired and published again', async () => {
    const messageId = randomUUID();
    await mdm.publish(text({ ...newUpdate(), cccid: 17 }), { messageId });
    const deadLettered = await takeDeadLettered(withId(messageId));
    const repaired = { ...(deadLettered.body as Update), cccid: newCccid('Q') };
    await mdm.publish(repaired);
    await untilShared(repaired);
  });
});

describe('nothing is lost', requires('full', 'rabbitmq'), () => {
  beforeEach(() => broker.start(), 120_000);

  const many = (count: number) => Array.from({ length: count }, () => newUpdate());
  const publishAll = (updates: Update[]) => Promise.all(updates.map((update) => mdm.publish(update)));
  const untilAllShared = async (updates: Update[], timeoutMs: number) => {
    const until = performance.now() + timeoutMs;
    for (const update of updates) await untilShared(update, Math.max(1, until - performance.now()));
  };

  it('the broker is killed with messages in it and the engine is down: all are shared when both are back', async () => {
    await engine.kill();
    const updates = many(30);
    await publishAll(updates);
    await broker.kill();
    await broker.start();
    await engine.start();
    await untilAllShared(updates, 60_000);
    await untilEmpty('mdm.updates');
  });

  it('the broker is killed and restarted: readiness reports the outage, and the router resumes by itself', async () => {
    const updates = many(30);
    const published = publishAll(updates);
    await broker.kill();
    const notices = async () => (await call(`${stack.operationsUrl}/health/ready`)).text;
    await pollUntil('a notice of the outage', async () => (await notices()).includes('mdm-updates'));
    await broker.start();
    await published;
    await untilAllShared(updates, 60_000);
    await untilEmpty('mdm.updates');
  });

  it('a router started before the broker serves PATCHes, and gets updates once the broker is running', async () => {
    await broker.kill();
    await stack.router.stop();
    await stack.restartRouter();
    const demo = await callerFor(stack.url);
    const patched = await demo('/adaptor/001/mock/colleges/001/persons/0318204', {
      method: 'PATCH',
      json: { cccid: newCccid('Q') },
    });
    expect(patched.status).toBe(200);
    await broker.start();
    const updates = many(10);
    await publishAll(updates);
    await untilAllShared(updates, 60_000);
  });

  it('one of two routers and the engine are killed at random: each update is shared and applied once', async () => {
    const random = randomOfRun();
    const updates: Update[] = [];
    let second: Program | undefined;
    for (let kill = 0; kill < 4; kill++) {
      second ??= await startProgram('gateway/main.ts', stack.routerEnv);
      const batch = many(40);
      updates.push(...batch);
      await publishAll(batch);
      const until = performance.now() + random.between(0, 700);
      await pollUntil('a random moment', () => performance.now() > until, { everyMs: 1 });
      await second.kill();
      second = undefined;
      await engine.kill();
      await engine.start();
    }
    await untilAllShared(updates, 120_000);
    await untilEmpty('mdm.updates');
    const shares = await Promise.all(updates.map(({ updateId }) => executionsOf('mdm-shareWF', updateId)));
    for (const { updateId } of updates)
      expect(writesOf(updateId).filter(({ event }) => event === 'applied')).toHaveLength(1);
    const twice = shares.filter(({ length }) => length > 1).length;
    process.stderr.write(`killed 4 times over ${updates.length} updates: ${twice} shares were started twice\n`);
  }, 400_000);

  // The last test, because it deletes the queue.
  it('readiness reports a missing queue', async () => {
    await broker.control('delete_queue', 'mdm.updates');
    const said = async () => (await call(`${stack.operationsUrl}/health/ready`)).text;
    await pollUntil('the notice', async () => (await said()).includes('is there a queue mdm.updates'));
  });
});
