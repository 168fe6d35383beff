// Decides from a history alone whether the seven invariants of docs/guarantees.md held. Pure.

import { type ClosedOrAnswered, type Invoke, type Operation, operationsOf } from './gather-operations.ts';
import type { AnyEvent, Route } from './history.ts';

export type Invariant = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7';

export interface Violation {
  readonly invariant: Invariant;
  /** The client's request, or what else it is about. */
  readonly subject: string;
  readonly what: string;
}

/** Text that was written somewhere during the run: a log, a response, a database. */
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

/** What is wrong; empty when every invariant held. */
export function checkHistory({ events, texts = [], secrets = [], slack = 1 }: Evidence): Violation[] {
  const operations = operationsOf(events);
  const faults = faultsOf(events);
  const each = operations.flatMap((operation) => [
    ...appliedOnce(operation),
    ...notifiedOnce(operation),
    ...answeredTruly(operation),
    ...answeredInTime(operation, faults, graceMs * slack),
    ...refusedWhenNotAllowed(operation),
    ...spared(operation, faults, sparedMs * slack),
  ]);
  return [...each, ...keysAppliedOnce(events), ...executionsOfOneOperation(operations), ...silent(texts, secrets)];
}

const isWrite = (method: string) => method !== 'GET' && method !== 'HEAD';
const changesBackEnd = ({ method, route }: Invoke) => isWrite(method) && reachesBackEnd(route);
export const isSuccess = (status: number) => status >= 200 && status <= 299;

/**
 * I1: one operation changes the back end once and is sent there once, and no request that was sent there is called
 * "not started". Requests with one key are one operation.
 */
function* appliedOnce({ invoke, ends, received, applied }: Operation): Generator<Violation> {
  if (!changesBackEnd(invoke)) return;
  const violation = (what: string): Violation => ({ invariant: 'I1', subject: invoke.op, what });
  if (applied.length > 1) yield violation(`one ${invoke.method} was applied ${applied.length} times`);
  if (received.length > 1) yield violation(`one ${invoke.method} was sent to the back end ${received.length} times`);
  const notStarted = ends.some((end) => end.event === 'answer' && end.status === 503 && end.problem !== undefined);
  // Another request with the same key may have been started.
  if (notStarted && received.some(({ op }) => op === invoke.op))
    yield violation('answered 503 (not started), but the back end got it');
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

/** I3: the execution that a response names belongs to one operation. */
function* executionsOfOneOperation(operations: readonly Operation[]): Generator<Violation> {
  const owners = new Map<string, string>();
  for (const { invoke, ends } of operations) {
    const owner = invoke.key ?? invoke.op;
    for (const end of ends) {
      if (end.event !== 'answer' || end.executionId === undefined) continue;
      const known = owners.get(end.executionId);
      if (known === undefined) owners.set(end.executionId, owner);
      else if (known !== owner)
        yield { invariant: 'I3', subject: invoke.op, what: 'was answered with the execution of another request' };
    }
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

/** I5: a response, or the end of the connection, once and within the budget. A stopped router cannot keep it. */
function* answeredInTime({ invoke, ends }: Operation, faults: readonly Fault[], graceMs: number): Generator<Violation> {
  const violation = (what: string): Violation => ({ invariant: 'I5', subject: invoke.op, what });
  const [end, ...others] = ends;
  if (end === undefined) return yield violation('neither answered nor closed');
  const ms = end.at - invoke.at;
  const stopped = faults.some(({ stops, ...fault }) => stops !== undefined && isHitBy(fault, stops, { invoke, end }));
  if (ms > invoke.budgetMs + graceMs && !stopped)
    yield violation(`open for ${Math.round(ms)} ms with a budget of ${invoke.budgetMs}`);
  if (others.length > 0) yield violation(`ended ${ends.length} times`);
}

/** Whether a request was at a stopped router at any moment of the fault. */
function isHitBy(
  { from, to }: Pick<Fault, 'from' | 'to'>,
  stopped: string,
  { invoke, end }: { invoke: Invoke; end: ClosedOrAnswered },
): boolean {
  return invoke.router === stopped && invoke.at <= to && end.at >= from;
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
  readonly stops: string | undefined;
}

function faultsOf(events: readonly AnyEvent[]): Fault[] {
  return events.flatMap((event, index) => {
    if (event.actor !== 'nemesis' || event.event !== 'fault') return [];
    const repaired = events
      .slice(index)
      .find((later) => later.actor === 'nemesis' && later.event === 'repaired' && later.what === event.what);
    const { what, at: from, spares, stops } = event;
    return [{ what, from, to: repaired?.at ?? Number.POSITIVE_INFINITY, spares, stops }];
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
