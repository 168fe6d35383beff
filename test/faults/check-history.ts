// Decides from a history alone whether the seven invariants of docs/explanation/reliability.md held. The module has no
// side effects.

import { type Fault, faultsOf, type Invoke, type Operation, operationOf, operationsOf } from './gather-operations.ts';
import type { AnyEvent, HistoryEvent, Route } from './history.ts';
import { separateExplained } from './store-losses.ts';
import { type Invariant, invariants, type Violation } from './violation.ts';

export interface Verdict {
  readonly violations: readonly Violation[];
  /** Violations that the measured loss of a killed Redis explains: data that Redis had not synced was not durable. */
  readonly explained: readonly Violation[];
  /** Number of checks of each invariant: of writes for I1, of PATCHes and persons for I2, of successes for I3 … */
  readonly judged: Readonly<Record<Invariant, number>>;
  readonly persons: PersonCounts;
}

/** Numbers of persons whose final values were observed, and of those whose values could be compared for I2. */
export interface PersonCounts {
  readonly observed: number;
  readonly compared: number;
}

/** A credential, or a pattern of personal values. */
export type Secret = string | RegExp;

/** Text that was written somewhere during the run: a log, a response, a database. */
export interface WrittenText {
  readonly name: string;
  readonly text: string;
}

export interface Evidence {
  readonly events: readonly AnyEvent[];
  readonly texts?: readonly WrittenText[];
  /** Credentials and personal values that must be in none of the texts. */
  readonly secrets?: readonly Secret[];
  /** Multiplies the time limits of I5 and I6 on a busy machine. Default: 1. */
  readonly slack?: number;
}

/** How far a request may exceed its budget before it counts as late, in milliseconds. */
const graceMs = 2_000;
/** Deadline for responses of a route that a fault does not affect, in milliseconds. */
const sparedMs = 2_000;
/**
 * Time added to {@link sparedMs} while several routers have no Redis, in milliseconds. Without Redis, they cannot wake
 * each other: a request whose result arrived at another router ends only when its own router reads the status, at the
 * latest after this time (completion-waiters.ts).
 */
const withoutWakeUpsMs = 2_000;

type Finding = Omit<Violation, 'invariant'>;
/** One item per check; undefined when the invariant held. */
type Findings = Iterable<Finding | undefined>;
/** Yields {@link holds} if the rule applies to an operation, and the violations of the operation. */
type Rule = (operation: Operation) => Iterable<string>;
const holds = '';

/** Checks a whole history. */
export function checkHistory({ events, texts = [], secrets = [], slack = 1 }: Evidence): Verdict {
  const operations = operationsOf(events);
  const faults = faultsOf(events);
  const deadlineMs = sparedMsOf(operations, slack);
  const each = (rule: Rule) => judgeEach(operations, rule);
  const persons = events.filter(isPerson);
  const comparable = persons.filter((person) => isComparable(person, operations));
  const findings: Readonly<Record<Invariant, readonly Findings[]>> = {
    I1: [each(writtenOnce), keysAppliedOnce(events)],
    I2: [each(notifiedOnce), comparable.flatMap((person) => [...agrees(person)])],
    I3: [each(answeredTruly), executionsOfOneOperation(operations), executionsKept(events, operations)],
    I4: [silent(texts, secrets)],
    I5: [each((operation) => answeredInTime(operation, faults, graceMs * slack))],
    I6: [each((operation) => spared(operation, faults, deadlineMs))],
    I7: [each(refusedWhenNotAllowed)],
  };
  const violations: Violation[] = [];
  const judged = { I1: 0, I2: 0, I3: 0, I4: 0, I5: 0, I6: 0, I7: 0 };
  for (const invariant of invariants) {
    for (const finding of findings[invariant].flatMap((some) => [...some])) {
      judged[invariant] += 1;
      if (finding !== undefined) violations.push({ invariant, ...finding });
    }
  }
  return {
    ...separateExplained(violations, events),
    judged,
    persons: { observed: persons.length, compared: comparable.length },
  };
}

function* judgeEach(operations: readonly Operation[], rule: Rule): Findings {
  for (const operation of operations) {
    const results = new Set(rule(operation));
    if (results.delete(holds) && results.size === 0) yield undefined;
    for (const what of results) yield { subject: operation.invoke.op, what };
  }
}

const isWrite = (method: string) => method !== 'GET' && method !== 'HEAD';
const withoutBackEnd: ReadonlySet<Route> = new Set(['token', 'health', 'refused']);
const reachesBackEnd = (route: Route) => !withoutBackEnd.has(route);
const changesBackEnd = ({ method, route }: Invoke) => isWrite(method) && reachesBackEnd(route);
/** Returns true for a success of the back end; 202 only means that an execution was accepted. */
export const isSuccess = (status: number) => status >= 200 && status <= 299 && status !== 202;

/**
 * I1: an operation is sent to the back end and applied at most once, and no request that reached the back end is
 * reported as not started.
 */
function* writtenOnce({ invoke, ends, received, applied }: Operation): Generator<string> {
  if (!changesBackEnd(invoke) || invoke.auth !== 'good') return;
  const notStarted = ends.some((end) => end.event === 'answer' && end.status === 503 && end.problem !== undefined);
  if (received.length > 0 || notStarted) yield holds;
  if (applied.length > 1) yield `one ${invoke.method} was applied ${applied.length} times`;
  if (received.length > 1) yield `one ${invoke.method} was sent to the back end ${received.length} times`;
  // Checks only this request: another request of the same operation may have reached the back end.
  if (notStarted && received.some(({ op }) => op === invoke.op))
    yield 'answered 503 (not started), but the back end got it';
}

/** I1 for each key that a back end receives, even for a write that no client sent, such as one by mdm-shareWF. */
function* keysAppliedOnce(events: readonly AnyEvent[]): Findings {
  const times = new Map<string, number>();
  for (const event of events) {
    if (event.actor !== 'back-end' || event.event !== 'applied' || event.key === undefined) continue;
    const write = `${event.key} ${event.target}`;
    times.set(write, (times.get(write) ?? 0) + 1);
  }
  for (const [write, count] of times) {
    yield count > 1 ? { subject: write, what: `one key was applied ${count} times` } : undefined;
  }
}

/** I2: MDM gets one effective notification of each PATCH that succeeded, and none of a PATCH that was not applied. */
function* notifiedOnce({ invoke, ends, applied, notified }: Operation): Generator<string> {
  const effective = notified.filter((event) => event.effective).length;
  const succeeded = ends.some((end) => end.event === 'answer' && isSuccess(end.status));
  const isExpected = invoke.method === 'PATCH' && changesBackEnd(invoke) && succeeded;
  if (isExpected || effective > 0) yield holds;
  if (isExpected && effective === 0) yield notHeard;
  if (effective > 1) yield `MDM counted ${effective} notifications of one request`;
  if (effective > 0 && applied.length === 0) yield 'MDM was told of a change that nobody applied';
}

const notHeard = 'MDM was not notified of a PATCH that got a 2xx';
const hasAnother = "the cccid differs from that at the person's own college:";

/** Returns true when the reconciler may still repair a violation. */
export const isOutstanding = (violation: Violation) => isUntold(violation) || violation.what.startsWith(hasAnother);
/** Returns true when a violation concerns a PATCH of which MDM was not notified. */
export const isUntold = ({ what }: Violation) => what === notHeard;

type PersonEvent = Extract<HistoryEvent, { event: 'person' }>;

const isPerson = (event: AnyEvent): event is PersonEvent => event.actor === 'observer' && event.event === 'person';

/** I2 at the end of a run: MDM and every other college have the `cccid` that the person's own college has. */
function* agrees({ mis, id, cccid, mdm, others }: PersonEvent): Findings {
  const subject = `${mis} ${id}`;
  const wrong = (what: string): Finding => ({ subject, what });
  yield mdm === cccid ? undefined : wrong(`${hasAnother} MDM has ${mdm}, the college ${cccid}`);
  for (const [other, there] of Object.entries(others))
    yield there === cccid ? undefined : wrong(`${hasAnother} ${other} has ${there}, the college ${cccid}`);
}

/**
 * Returns true when MDM must have the value of the person's own college: MDM knows the person, and the last change was
 * a PATCH (MDM is not notified of a PUT) that no other write overlapped. Earlier changes may overlap, because the last
 * change replaces their values.
 */
function isComparable({ mis, id, mdm }: PersonEvent, operations: readonly Operation[]): boolean {
  if (mdm === undefined) return false;
  const target = `/colleges/${mis}/persons/${id}`;
  const writes = writesOf(operations.filter(({ invoke }) => invoke.target.endsWith(target) && isAllowedWrite(invoke)));
  const last = writes.findLast(({ isApplied }) => isApplied);
  if (last?.method !== 'PATCH') return false;
  return writes.every((write) => write === last || write.to <= last.from || write.from >= last.to);
}

const isAllowedWrite = ({ auth, method }: Invoke) => auth === 'good' && isWrite(method);

/** One write, which several requests may share, with the time in which it may have been applied. */
interface Write {
  readonly method: string;
  readonly from: number;
  readonly to: number;
  readonly isApplied: boolean;
}

/** Returns the writes of these requests, in the order in which they were first sent. */
function writesOf(requests: readonly Operation[]): Write[] {
  const writes = new Map<string, Write>();
  for (const { invoke, ends, applied } of requests) {
    const known = writes.get(operationOf(invoke));
    // A write can be applied after its client has left or got a 504.
    const times = [known?.to ?? 0, ends[0]?.at ?? Number.POSITIVE_INFINITY, ...applied.map(({ at }) => at)];
    writes.set(operationOf(invoke), {
      method: invoke.method,
      from: known?.from ?? invoke.at,
      to: Math.max(...times),
      isApplied: applied.length > 0,
    });
  }
  return [...writes.values()].toSorted((one, other) => one.from - other.from);
}

/**
 * I3: a request succeeds only if the back end received the read or applied the write, and only with the back end's
 * body. An execution that was accepted with 202 stays known.
 */
function* answeredTruly({ invoke, ends, received, applied }: Operation): Generator<string> {
  for (const end of ends) {
    if (end.event !== 'answer') continue;
    if (end.problem === 'execution-unknown') yield 'an accepted execution is unknown';
    if (!isSuccess(end.status) || !reachesBackEnd(invoke.route)) continue;
    yield holds;
    if (changesBackEnd(invoke) && applied.length === 0) yield `answered ${end.status}, but never applied`;
    else if (received.length === 0) yield `answered ${end.status}, but no back end was asked`;
    if (end.right === false) yield `answered ${end.status} with a body other than the back end's`;
  }
}

/** I3: all responses that name the same execution belong to the same operation. */
function* executionsOfOneOperation(operations: readonly Operation[]): Findings {
  const owners = new Map<string, string>();
  for (const { invoke, ends } of operations) {
    for (const end of ends) {
      if (end.event !== 'answer' || end.executionId === undefined) continue;
      const owner = owners.get(end.executionId) ?? operationOf(invoke);
      owners.set(end.executionId, owner);
      const what = 'was answered with the execution of another request';
      yield owner === operationOf(invoke) ? undefined : { subject: invoke.op, what };
    }
  }
}

/** I3 at the end of a run: the engine still has each execution that a success or a 202 acknowledged to a client. */
function* executionsKept(events: readonly AnyEvent[], operations: readonly Operation[]): Findings {
  const owners = new Map(
    operations.flatMap(({ invoke, ends }) => acknowledgedIn(ends).map((executionId) => [executionId, invoke.op])),
  );
  for (const event of events) {
    if (event.actor !== 'observer' || event.event !== 'execution') continue;
    const subject = owners.get(event.executionId) ?? event.executionId;
    yield event.found ? undefined : { subject, what: 'an acknowledged execution is gone from its engine' };
  }
}

/** Returns the executions that were acknowledged by a success or a 202. */
export function acknowledgedIn(ends: Operation['ends']): string[] {
  return ends.flatMap((end) =>
    end.event === 'answer' && end.status < 300 && end.executionId !== undefined ? [end.executionId] : [],
  );
}

/** I4: the texts contain no secrets; each line counts as one check. */
function* silent(texts: readonly WrittenText[], secrets: readonly Secret[]): Findings {
  if (secrets.length === 0) return;
  for (const { name, text } of texts) {
    for (const line of text.split('\n')) if (line !== '') yield undefined;
    for (const [index, secret] of secrets.entries())
      if (typeof secret === 'string' ? text.includes(secret) : secret.test(text))
        yield { subject: name, what: `contains secret number ${index + 1}` };
  }
}

/**
 * I5: each request gets one response within its budget. A connection ends without a response only if its router was
 * stopped or its client left.
 */
function* answeredInTime({ invoke, ends }: Operation, faults: readonly Fault[], graceMs: number): Generator<string> {
  yield holds;
  const [end, ...others] = ends;
  if (end === undefined) return yield 'neither answered nor closed';
  const ms = end.at - invoke.at;
  const stopped = faults.some(
    ({ from, to, stops }) => stops !== undefined && stops === invoke.router && invoke.at <= to && end.at >= from,
  );
  if (ms > invoke.budgetMs + graceMs && !stopped)
    yield `open for ${Math.round(ms)} ms with a response deadline of ${invoke.budgetMs} ms`;
  if (end.event === 'closed' && end.reason !== 'gone' && !stopped)
    yield `closed without a response (${end.reason}) although its router was running`;
  if (others.length > 0) yield `ended ${ends.length} times`;
}

/** Returns the deadline for responses of routes that a fault does not affect. */
function sparedMsOf(operations: readonly Operation[], slack: number): (fault: Fault) => number {
  const routers = new Set(operations.map(({ invoke }) => invoke.router)).size;
  return ({ kind }) => (sparedMs + (kind === 'Redis' && routers > 1 ? withoutWakeUpsMs : 0)) * slack;
}

/** I6: during a fault, routes that the fault does not affect respond as usual and in time. */
function* spared(
  { invoke, ends }: Operation,
  faults: readonly Fault[],
  deadlineMs: (fault: Fault) => number,
): Generator<string> {
  const [end] = ends;
  for (const fault of faults) {
    const { what, from, to, spares } = fault;
    if (!spares.includes(invoke.route) || invoke.at < from || invoke.at > to) continue;
    const until = end?.at ?? invoke.at + deadlineMs(fault);
    const meanwhile = faults.filter((other) => other.from <= until && other.to >= invoke.at);
    // Another fault, which does affect the route, overlaps the request.
    if (meanwhile.some((other) => !other.spares.includes(invoke.route))) continue;
    yield holds;
    const longestMs = Math.max(...meanwhile.map(deadlineMs));
    const wrong = (why: string) => `${invoke.route} ${why} during ${what}`;
    if (end === undefined || (end.event === 'closed' && end.reason !== 'gone')) yield wrong('was not answered');
    // This execution was started by an earlier request, perhaps during another fault.
    else if (end.event === 'answer' && end.problem === 'execution-timed-out' && invoke.operation !== undefined)
      continue;
    else if (end.event === 'answer' && end.status >= 500) yield wrong(`answered ${end.status}`);
    // The client waited for the outcome of an execution, which was still running when the wait ended.
    else if (end.event === 'answer' && end.problem === 'answer-pending') continue;
    else if (end.at - invoke.at > longestMs) yield wrong(`took ${Math.round(end.at - invoke.at)} ms`);
  }
}

/** I7: a request without a good token gets no success and has no effect. */
function* refusedWhenNotAllowed({ invoke, ends, received }: Operation): Generator<string> {
  if (invoke.auth === 'good') return;
  yield holds;
  if (received.length > 0) yield 'reached a back end without a good token';
  for (const end of ends) {
    if (end.event === 'answer' && (end.status < 400 || end.executionId !== undefined))
      yield `answered ${end.status} without a good token`;
  }
}
