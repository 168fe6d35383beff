// Decides from a history alone whether the seven invariants of docs/guarantees.md held. Pure.

import type { BackEndEvent } from '../../dev/back-ends/history.ts';
import type { AnyEvent, HistoryEvent, Route } from './history.ts';

export type Invariant = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7';

export interface Violation {
  readonly invariant: Invariant;
  /** The client's request, or what else it is about. */
  readonly subject: string;
  readonly what: string;
}

/** Text that was written somewhere during the run: a log, an answer, a database. */
export interface WrittenText {
  readonly name: string;
  readonly text: string;
}

export interface Evidence {
  readonly events: readonly AnyEvent[];
  readonly texts?: readonly WrittenText[];
  /** Credentials and personal values that must be in none of the texts. */
  readonly secrets?: readonly string[];
  /** Multiplies the times of I5 and I6 on a machine that is busy with other things. Default 1. */
  readonly slack?: number;
}

/** Added to a budget before a request counts as open past it, in milliseconds. */
const graceMs = 2_000;
/** A route that a fault does not touch answers within this time, in milliseconds. */
const sparedMs = 2_000;

type Invoke = Extract<HistoryEvent, { event: 'invoke' }>;
type Answer = Extract<HistoryEvent, { event: 'answer' }>;
type Closed = Extract<HistoryEvent, { event: 'closed' }>;
type Applied = Extract<BackEndEvent, { event: 'applied' }>;
type Received = Extract<BackEndEvent, { event: 'received' }>;
type Notified = Extract<BackEndEvent, { event: 'notified' }>;

/** Everything known of one request of a client. */
interface Operation {
  readonly invoke: Invoke;
  readonly ends: (Answer | Closed)[];
  readonly received: Received[];
  readonly applied: Applied[];
  readonly notified: Notified[];
}

/** What is wrong; empty when every invariant held. */
export function checkHistory({ events, texts = [], secrets = [], slack = 1 }: Evidence): Violation[] {
  const operations = operationsOf(events);
  const faults = faultsOf(events);
  const each = operations.flatMap((operation) => [
    ...appliedOnce(operation),
    ...notifiedOnce(operation),
    ...answeredTruly(operation),
    ...answeredInTime(operation, graceMs * slack),
    ...refusedWhenNotAllowed(operation),
    ...spared(operation, faults, sparedMs * slack),
  ]);
  return [...each, ...keysAppliedOnce(events), ...silent(texts, secrets)];
}

/** Writes that the back end applied although no client was told so: not a violation, but worth a number. */
export function countUnacknowledged(events: readonly AnyEvent[]): { applied: number; withoutMdm: number } {
  const unknown = operationsOf(events).filter(
    ({ applied, ends }) => applied.length > 0 && !ends.some((end) => end.event === 'answer' && isSuccess(end.status)),
  );
  const patches = unknown.filter(({ invoke, notified }) => invoke.method === 'PATCH' && notified.length === 0);
  return { applied: unknown.length, withoutMdm: patches.length };
}

/** Milliseconds from each `mended` to the first success of a request that was sent after it. */
export function recoveryTimes(events: readonly AnyEvent[]): { what: string; ms: number }[] {
  const successes = operationsOf(events)
    .filter(({ invoke }) => invoke.auth === 'good' && invoke.route !== 'health' && invoke.route !== 'token')
    .flatMap(({ invoke, ends }) =>
      ends
        .filter((end) => end.event === 'answer' && isSuccess(end.status))
        .map((end) => ({ sentAt: invoke.at, at: end.at })),
    );
  return events.flatMap((event) => {
    if (event.actor !== 'nemesis' || event.event !== 'mended') return [];
    const after = successes.filter(({ sentAt }) => sentAt >= event.at).map(({ at }) => at);
    // Not Math.min(...after): the list may be longer than a call takes arguments.
    const first = after.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY);
    return [{ what: event.what, ms: Math.round(first - event.at) }];
  });
}

function operationsOf(events: readonly AnyEvent[]): Operation[] {
  const operations = new Map<string, Operation>();
  for (const event of events) {
    if (event.actor !== 'client' || event.event !== 'invoke') continue;
    operations.set(event.op, { invoke: event, ends: [], received: [], applied: [], notified: [] });
  }
  for (const event of events) {
    const operation = 'op' in event ? operations.get(event.op) : undefined;
    if (operation === undefined) continue;
    if (event.actor === 'mdm') operation.notified.push(event);
    else if (event.actor === 'client' && event.event !== 'invoke') operation.ends.push(event);
    // What MDM makes of a change carries the same id, to another target.
    else if (event.actor === 'back-end' && event.target.endsWith(operation.invoke.target)) {
      if (event.event === 'applied') operation.applied.push(event);
      // A reconciler may ask for the same resource.
      else if (event.method === operation.invoke.method) operation.received.push(event);
    }
  }
  return [...operations.values()];
}

const isWrite = (method: string) => method !== 'GET' && method !== 'HEAD';
const changesBackEnd = ({ method, route }: Invoke) => isWrite(method) && reachesBackEnd(route);
const isSuccess = (status: number) => status >= 200 && status <= 299;

/** I1: one request of a client changes the back end once, is sent there once, and is not called "not started" then. */
function* appliedOnce({ invoke, ends, received, applied }: Operation): Generator<Violation> {
  if (!changesBackEnd(invoke)) return;
  const violation = (what: string): Violation => ({ invariant: 'I1', subject: invoke.op, what });
  if (applied.length > 1) yield violation(`one ${invoke.method} was applied ${applied.length} times`);
  if (received.length > 1) yield violation(`one ${invoke.method} was sent to the back end ${received.length} times`);
  const notStarted = ends.some((end) => end.event === 'answer' && end.status === 503 && end.problem !== undefined);
  if (notStarted && received.length > 0) yield violation('answered 503 (not started), but the back end got it');
}

/** I1 for every key, also of writes that no client asked for, such as a share. */
function* keysAppliedOnce(events: readonly AnyEvent[]): Generator<Violation> {
  const times = new Map<string, number>();
  for (const event of events) {
    if (event.actor !== 'back-end' || event.event !== 'applied' || event.key === undefined) continue;
    const write = `${event.key} ${event.target}`;
    times.set(write, (times.get(write) ?? 0) + 1);
  }
  for (const [write, count] of times) {
    if (count > 1) yield { invariant: 'I1', subject: write, what: `one key was applied ${count} times` };
  }
}

/** I2: a PATCH that succeeded is one effective notification of MDM; one that was not applied is none. */
function* notifiedOnce({ invoke, ends, applied, notified }: Operation): Generator<Violation> {
  const violation = (what: string): Violation => ({ invariant: 'I2', subject: invoke.op, what });
  const effective = notified.filter((event) => event.effective).length;
  const succeeded = ends.some((end) => end.event === 'answer' && isSuccess(end.status));
  if (invoke.method === 'PATCH' && succeeded && effective === 0)
    yield violation('a 2xx PATCH of which MDM did not hear');
  if (effective > 1) yield violation(`one request made ${effective} effective updates of MDM`);
  if (effective > 0 && applied.length === 0) yield violation('MDM was told of a change that nobody applied');
}

/** I3: success is said only of what was done, and a successful answer is the back end's own. */
function* answeredTruly({ invoke, ends, received, applied }: Operation): Generator<Violation> {
  const violation = (what: string): Violation => ({ invariant: 'I3', subject: invoke.op, what });
  for (const end of ends) {
    if (end.event !== 'answer' || !isSuccess(end.status)) continue;
    if (changesBackEnd(invoke) && applied.length === 0) yield violation(`answered ${end.status}, but never applied`);
    else if (reachesBackEnd(invoke.route) && received.length === 0)
      yield violation(`answered ${end.status}, but no back end was asked`);
    if (end.right === false) yield violation(`answered ${end.status} with another body than the back end's`);
  }
}

const reachesBackEnd = (route: Route) => route === 'movies' || route === 'adaptor' || route === 'lmsDW';

/** I4 */
function* silent(texts: readonly WrittenText[], secrets: readonly string[]): Generator<Violation> {
  for (const { name, text } of texts) {
    for (const [index, secret] of secrets.entries()) {
      if (text.includes(secret)) yield { invariant: 'I4', subject: name, what: `contains secret number ${index + 1}` };
    }
  }
}

/** I5: an answer, or the end of the connection, once and within the budget. */
function* answeredInTime({ invoke, ends }: Operation, graceMs: number): Generator<Violation> {
  const violation = (what: string): Violation => ({ invariant: 'I5', subject: invoke.op, what });
  const [end, ...others] = ends;
  if (end === undefined) return yield violation('neither answered nor closed');
  const ms = end.at - invoke.at;
  if (ms > invoke.budgetMs + graceMs)
    yield violation(`open for ${Math.round(ms)} ms with a budget of ${invoke.budgetMs}`);
  if (others.length > 0) yield violation(`ended ${ends.length} times`);
}

/** I7: without a good token nothing is answered with success, and nothing is done. */
function* refusedWhenNotAllowed({ invoke, ends, received }: Operation): Generator<Violation> {
  if (invoke.auth === 'good') return;
  const violation = (what: string): Violation => ({ invariant: 'I7', subject: invoke.op, what });
  if (received.length > 0) yield violation('reached a back end without a good token');
  for (const end of ends) {
    if (end.event === 'answer' && (end.status < 400 || end.executionId !== undefined))
      yield violation(`answered ${end.status} without a good token`);
  }
}

interface Fault {
  readonly what: string;
  readonly from: number;
  readonly to: number;
  readonly spares: readonly Route[];
}

function faultsOf(events: readonly AnyEvent[]): Fault[] {
  return events.flatMap((event, index) => {
    if (event.actor !== 'nemesis' || event.event !== 'fault') return [];
    const mended = events
      .slice(index)
      .find((later) => later.actor === 'nemesis' && later.event === 'mended' && later.what === event.what);
    return [{ what: event.what, from: event.at, to: mended?.at ?? Number.POSITIVE_INFINITY, spares: event.spares }];
  });
}

/** I6: while a fault lasts, a route that it does not touch answers as ever, and soon. */
function* spared({ invoke, ends }: Operation, faults: readonly Fault[], sparedMs: number): Generator<Violation> {
  for (const { what, from, to, spares } of faults) {
    if (!spares.includes(invoke.route) || invoke.at < from || invoke.at > to) continue;
    const violation = (why: string): Violation => ({
      invariant: 'I6',
      subject: invoke.op,
      what: `${invoke.route} ${why} during ${what}`,
    });
    const [end] = ends;
    if (end === undefined || end.event === 'closed') yield violation('was not answered');
    else if (end.status >= 500) yield violation(`answered ${end.status}`);
    else if (end.at - invoke.at > sparedMs) yield violation(`took ${Math.round(end.at - invoke.at)} ms`);
  }
}
