// Cases in which workers are killed: before the call to the back end, between the call and the report of its result,
// after the report, and all workers at once.

import { pollUntil } from '../../stack/poll-until.ts';
import { type AnyEvent, now } from '../history.ts';
import type { Outcome } from '../operations.ts';
import { withoutExecution } from '../component.ts';
import { outage } from '../outage.ts';
import type { WorldOptions } from '../start-world.ts';
import type { World } from '../world.ts';
import type { Case } from './case.ts';

/** Options of a world in which workers die. */
export const withDyingWorkers: WorldOptions = {
  /** Keeps the circuit breaker of a back end closed. */
  router: { BREAKER_BACKEND_MINCALLS: '100000' },
  /**
   * Higher than the default (8): the reconciler probes PATCHes of earlier cases on the same engine, up to eight at a
   * time. While a case delays the responses of back ends, the probes could otherwise occupy a whole worker process.
   */
  workers: { WORKERS_CONCURRENCY: '24' },
};
const world = withDyingWorkers;

/** Sends a few reads and writes, which one worker process can run concurrently. */
function sendSome({ operations: { movie, terms, put, patch } }: World): Promise<Outcome>[] {
  return [movie, movie, movie, movie, terms, terms, put, put, patch, patch].map((send) => send());
}

/** Sends requests and waits until they have reached the back ends, whose responses are held back. */
async function sendUnanswered(world: World): Promise<{ from: number; sent: Promise<Outcome>[] }> {
  const from = now();
  world.proxies.backEnds.freezeAnswers();
  const sent = sendSome(world);
  await pollUntil('the back ends to receive the requests', () => progress(world, from).arrived >= sent.length);
  return { from, sent };
}

const isWrite = ({ method }: { method: string }) => method !== 'GET';

/** Returns the progress of this try's requests according to the history. */
function progress(world: World, from: number) {
  const isOwn = (event: AnyEvent) => 'op' in event && event.op.startsWith(world.operations.prefix);
  const events = world.events().filter((event) => event.at >= from && isOwn(event));
  const invoked = events.filter((event) => event.actor === 'client' && event.event === 'invoke');
  const arrived = events.filter((event) => event.actor === 'back-end' && event.event === 'received');
  const applied = events.filter((event) => event.actor === 'back-end' && event.event === 'applied');
  const writes = invoked.filter(isWrite).length;
  return { invoked, arrived: arrived.length, applied: applied.map(({ op }) => op), writes };
}

/**
 * Waits until workers have the tasks of the writes, according to the engine. The tasks of the reads, which were sent
 * earlier, are dispatched directly, so the engine does not know which of these tasks are with a worker.
 * @returns the writes whose tasks are with a worker. Some writes may be missing: on a busy machine, a write may get its
 *   response before the engine has created its execution. Another worker carries out this execution later
 */
async function untilHandedOut(world: World, from: number): Promise<ReadonlySet<string>> {
  const held = new Set<string>();
  const isAnswered = (op: string) =>
    world.events().some((event) => event.actor === 'client' && event.event === 'answer' && event.op === op);
  for (const { op } of progress(world, from).invoked.filter(isWrite)) {
    let state: string | undefined;
    const wasHandedOut = async () => {
      state = await stateOfTask(world, op);
      return state === undefined ? isAnswered(op) : state !== 'SCHEDULED';
    };
    await pollUntil('the router to get the task', wasHandedOut).catch((error: Error) => {
      throw new Error(`${error.message}; its last state was ${state}`);
    });
    if (state !== undefined) held.add(op);
  }
  await pollUntil('the router to hand out all tasks', async () => (await world.levels()).readyTasks === 0);
  return held;
}

interface ReadExecution {
  readonly correlationId?: string;
  readonly tasks?: readonly { readonly status: string }[];
}

/** Returns the state of the first task of a write. */
async function stateOfTask({ engine }: World, op: string): Promise<string | undefined> {
  const read = async <T>(path: string) => (await (await fetch(`${engine.url}/api/workflow/${path}`)).json()) as T;
  const workflow = 'college-adaptorWF';
  const found =
    engine.redis === undefined
      ? await read<ReadExecution[]>(`${workflow}/correlated/${op}?includeTasks=true`)
      : // Without an index, the engine finds nothing by correlation id.
        await Promise.all((await read<string[]>(`running/${workflow}`)).map((id) => read<ReadExecution>(id)));
  return found.find(({ correlationId }) => correlationId === op)?.tasks?.[0]?.status;
}

/** Expects 504 (unknown outcome) for requests whose worker died; a read may also get 200, because it can run again. */
function expectLost(world: World, outcomes: readonly Outcome[], reads: ReadonlySet<string>): void {
  for (const outcome of outcomes) {
    if (reads.has(outcome.op)) world.expectStatus('a read', outcome, [200, 504]);
    else world.expectStatus('a write', outcome, [504]);
  }
}

const readsOf = ({ invoked }: ReturnType<typeof progress>) =>
  new Set(invoked.filter((event) => !isWrite(event)).map(({ op }) => op));

const breaks = ['movies', 'adaptor'] as const;

async function kill(world: World, what: string): Promise<void> {
  world.fault({ what, spares: withoutExecution, breaks, kind: 'worker' });
  await world.kill(world.component('worker'));
}

async function replace(world: World, what: string): Promise<void> {
  await world.proxies.backEnds.repair();
  await world.proxies.api.repair();
  await world.component('worker').start();
  world.repaired(what);
  await world.untilServed();
}

const before: Case = {
  name: 'worker-killed-before-call',
  tries: 20,
  world,
  async tryOnce(world) {
    const from = now();
    world.proxies.backEnds.freeze();
    const sent = sendSome(world);
    const held = await untilHandedOut(world, from);
    await kill(world, before.name);
    await replace(world, before.name);
    expectLost(world, await Promise.all(sent), readsOf(progress(world, from)));
    world.expect(held.size > 0, 'no worker held a write when it was killed');
    const reached = progress(world, from).applied.filter((op) => held.has(op));
    world.expect(reached.length === 0, 'a write reached the back end although its worker was dead');
  },
};

const between: Case = {
  name: 'worker-killed-between-call-and-report',
  tries: 20,
  world,
  async tryOnce(world) {
    const { from, sent } = await sendUnanswered(world);
    await kill(world, between.name);
    await replace(world, between.name);
    expectLost(world, await Promise.all(sent), readsOf(progress(world, from)));
    const { applied, writes } = progress(world, from);
    world.expect(applied.length >= writes, 'a write had not been applied when its worker was killed');
  },
};

const after: Case = {
  name: 'worker-killed-after-report',
  tries: 20,
  world,
  async tryOnce(world) {
    const { sent } = await sendUnanswered(world);
    // Reports reach the router, but the router's responses do not reach the workers.
    world.proxies.api.freezeAnswers();
    world.proxies.backEnds.thaw();
    for (const outcome of await Promise.all(sent)) world.expectStatus('a request', outcome, [200]);
    await kill(world, after.name);
    await replace(world, after.name);
  },
};

const allGone: Case = {
  name: 'all-workers-gone',
  tries: 10,
  world,
  async tryOnce(world) {
    await outage(world, { what: allGone.name, spares: withoutExecution, kind: 'worker' }, async () => {
      await Promise.all(world.workers.map((workers) => world.kill(workers)));
      const outcomes = await Promise.all(sendSome(world));
      for (const outcome of outcomes) world.expectStatus('a request', outcome, [503, 504]);
      await Promise.all(world.workers.map((workers) => workers.start()));
    });
  },
};

export const workerCases: readonly Case[] = [before, between, after, allGone];
