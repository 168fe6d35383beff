// The world in which a case runs: a stack of real processes with proxies between them, clients, and one history.

import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { BreakableProxy } from '../stack/breakable-proxy.ts';
import { pollUntil } from '../stack/poll-until.ts';
import type { RedisServer } from '../stack/redis-server.ts';
import type { SeededRandom } from '../stack/seeded-random.ts';
import type { Stack } from '../stack/stack.ts';
import type { BadBackEnd } from './bad-back-end.ts';
import { checkHistory, isOutstanding, isUntold, type Secret, type Verdict, type WrittenText } from './check-history.ts';
import type { Component, ComponentKind, ProgramComponent } from './component.ts';
import type { GivenEngine } from './engine.ts';
import type { EngineProxy } from './engine-proxy.ts';
import type { AnyEvent, FaultDescription, History, Route } from './history.ts';
import { countMissing, type Levels, notBack, readLevels } from './levels.ts';
import { type Load, type LoadOptions, startLoad } from './load.ts';
import { describeUntold } from './untold.ts';
import type { Operations, Outcome } from './operations.ts';
import { observeExecutions } from './observe-executions.ts';
import { type Observation, observePersons, type Persons } from './persons.ts';

/** The parts that `startWorld` has started. */
export interface WorldParts {
  readonly stack: Stack;
  readonly engine: GivenEngine;
  readonly history: History;
  readonly random: SeededRandom;
  /** Multiplies time limits; 1 on an otherwise idle machine. */
  readonly slack: number;
  /** Sends the requests of a case. */
  readonly operations: Operations;
  /** Sends the load during a case, with other request ids. */
  readonly background: Operations;
  /** Returns separate clients for another address of the first router. */
  readonly operationsAt: (url: string) => Operations;
  readonly persons: Persons;
  readonly proxies: {
    /** Router → engine, at the byte level. */
    readonly engine: BreakableProxy;
    /** Proxy between router and engine that handles individual calls; it is behind the proxy `engine`. */
    readonly engineCalls: EngineProxy;
    /** Workers → back ends. */
    readonly backEnds: BreakableProxy;
    /** Workers → router. */
    readonly api: BreakableProxy;
  };
  /** Data warehouse and adaptor of college 666 in one server; it works until a case makes it misbehave. */
  readonly badBackEnd: BadBackEnd;
  /** The routers' Redis, when the case has one or the engine has no index. */
  readonly redis: RedisServer | undefined;
  readonly components: readonly Component[];
  readonly routers: readonly ProgramComponent[];
  /** The workers of the first router's default pool come first. */
  readonly workers: readonly ProgramComponent[];
  /** Output of processes that have ended. */
  readonly endedTexts: readonly WrittenText[];
  readonly secrets: () => readonly Secret[];
  readonly close: () => Promise<void>;
}

const reads: readonly Route[] = ['movies', 'adaptor'];
/**
 * Deadline for routes to work again, in milliseconds: longer than an engine takes to start on a busy machine. The
 * recovery time has a separate limit.
 */
const servedMs = 90_000;
/** Deadline for the router to release the resources of the load, in milliseconds: longer than idle connections last. */
const levelMs = 90_000;
/** Idle time after which a run counts as settled, in milliseconds: the reconciler runs every 3 s. */
const quietMs = 10_000;
/** Pause between two checks of whether a run has settled; each check evaluates the whole history. */
const restLookMs = 3_000;
const longestRestMs = 1_800_000;
const mostProbes = 12;
/** Number of exits after which a program is no longer restarted. */
const mostEnds = 20;
/** Pause between two checks of whether this world is still running, in milliseconds. */
const watchMs = 1_000;

const isStore = ({ kind }: Component) => kind === 'PostgreSQL' || kind === "engine's Redis";

/** The functions of a world that cases use. */
class WorldActions {
  readonly #parts: WorldParts;
  readonly #kills = new Map<ComponentKind, number>();
  /** Problems that a case found, in addition to violated invariants. */
  readonly complaints: string[] = [];
  /** Observations that are neither good nor bad. */
  readonly notes: string[] = [];
  /** Output of programs that exited unexpectedly and were restarted. */
  readonly #ends = new Map<ProgramComponent, string[]>();
  #isOver = false;

  constructor(parts: WorldParts) {
    this.#parts = parts;
  }

  /** Number of processes that were killed with SIGKILL. */
  get kills(): number {
    return [...this.#kills.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Returns the number of processes of a kind that were killed. */
  killsOf(kind: ComponentKind): number {
    return this.#kills.get(kind) ?? 0;
  }

  /** Records a complaint unless `fact` holds. */
  expect(fact: boolean, complaint: string): void {
    if (!fact) this.complaints.push(complaint);
  }

  /**
   * Records a complaint when a request got another outcome than the expected ones.
   * @param subject start of the complaint, such as `a request in flight`
   * @param expected statuses; undefined: the connection ended without a response
   */
  expectStatus(subject: string, { status, problem }: Outcome, expected: readonly (number | undefined)[]): void {
    const nameOf = (each: number | undefined) => String(each ?? 'no response');
    const got = problem === undefined ? nameOf(status) : `${nameOf(status)} ${problem}`;
    const allowed = new Intl.ListFormat('en', { type: 'disjunction' }).format(expected.map(nameOf));
    this.expect(expected.includes(status), `${subject} got ${got}, not ${allowed}`);
  }

  /**
   * Records a complaint when something took longer than a limit, multiplied by the slack. Times are in milliseconds.
   * @param what start of the complaint, before the duration, such as `draining took`
   */
  expectWithin(limitMs: number, ms: number, what: string): void {
    this.expect(ms <= limitMs * this.#parts.slack, `${what} ${Math.round(ms)} ms`);
  }

  /** Records that a fault begins now. By default, it spares no route and is not known to break any. */
  fault(fault: Partial<FaultDescription> & { readonly what: string }): void {
    this.#parts.history.append({ actor: 'nemesis', event: 'fault', spares: [], breaks: [], ...fault });
  }

  repaired(what: string): void {
    this.#parts.history.append({ actor: 'nemesis', event: 'repaired', what });
  }

  /** Returns a component of a kind by its index. @throws Error when the world has no such component */
  component(kind: ComponentKind, index = 0): Component {
    const found = this.#parts.components.filter((each) => each.kind === kind)[index];
    if (found === undefined) throw new Error(`this world has no ${kind} ${index + 1}`);
    return found;
  }

  async kill(component: Component): Promise<void> {
    await component.kill();
    this.#kills.set(component.kind, this.killsOf(component.kind) + 1);
  }

  /**
   * Kills components at the same time and restarts them after a pause; resolves when the affected routes work again.
   */
  async killAndRestart(victims: readonly Component[], pauseMs = 0): Promise<void> {
    for (const { name: what, kind, breaks, spares, stops } of victims) {
      const spared = spares.filter((route) => victims.every((victim) => victim.spares.includes(route)));
      this.fault({ what, kind, breaks, spares: spared, stops });
    }
    await Promise.all(victims.map((victim) => this.kill(victim)));
    await pause(pauseMs);
    // An engine does not start without its store.
    const [stores, others] = [victims.filter(isStore), victims.filter((victim) => !isStore(victim))];
    for (const some of [stores, others]) await Promise.all(some.map((victim) => victim.start()));
    for (const { name } of victims) this.repaired(name);
    // The routers are probed concurrently: a request that waits at one router for its whole budget must not delay the
    // requests to another router.
    await Promise.all(victims.map(({ breaks: routes, stops: router }) => this.untilServed({ routes, router })));
  }

  /** Starts the load of a case. */
  startLoad(options: LoadOptions): Load {
    return startLoad(this.#parts.background, this.#parts.random, options);
  }

  /**
   * Restarts a program whenever it ends, as systemd does, until this world ends: results that workers still send can
   * crash a router long after its clients have gone.
   * @returns the output of each process that ended
   */
  keepRunning(component: ProgramComponent): readonly string[] {
    const known = this.#ends.get(component);
    if (known !== undefined) return known;
    const ends: string[] = [];
    this.#ends.set(component, ends);
    const watch = async () => {
      while (!this.#isOver && ends.length < mostEnds) {
        const ended = component.program();
        await once(ended.process, 'exit', { signal: AbortSignal.timeout(watchMs) }).catch(() => undefined);
        if (ended.process.exitCode === null && ended.process.signalCode === null) continue;
        // If the new process ends before it is ready, that counts as another exit.
        await component.start().catch(() => undefined);
        ends.push(ended.output());
      }
    };
    void watch();
    return ends;
  }

  /**
   * Sends a request to each route every 200 ms until a request to that route succeeds. Does not wait for earlier
   * requests, which may take their whole budget; the number of requests in flight is limited.
   * @throws Error after `timeoutMs` (default: 90 s) multiplied by the slack
   */
  async untilServed(
    options: { routes?: readonly Route[]; router?: string | undefined; timeoutMs?: number } = {},
  ): Promise<void> {
    const { routes = reads, router, timeoutMs = servedMs } = options;
    const sent = new Set<Promise<unknown>>();
    const unserved = new Set(routes);
    const probe = () => {
      for (const route of unserved) {
        if (sent.size >= mostProbes) break;
        const probing: Promise<unknown> = this.#parts.operations.probe(route, router).then(({ status }) => {
          if (status === 200) unserved.delete(route);
          sent.delete(probing);
        });
        sent.add(probing);
      }
      return unserved.size === 0;
    };
    const label = `${routes.join(', ')} to be served${router === undefined ? '' : ` by ${router}`}`;
    await pollUntil(label, probe, { timeoutMs: timeoutMs * this.#parts.slack, everyMs: 200 });
    await Promise.all(sent);
  }

  /**
   * Waits until MDM and all colleges know every successful change and, when `nothingMissing` is true, until no
   * reconciler has work left. Gives up when the remaining work has not decreased for `timeoutMs` multiplied by the
   * slack. In both cases, the values of all persons are then added to the history.
   * @returns a description of the pending work; undefined when there is none
   */
  async untilAtRest({
    timeoutMs,
    nothingMissing = false,
  }: {
    timeoutMs: number;
    nothingMissing?: boolean;
  }): Promise<string | undefined> {
    const { stack, persons, history, routers, engine, slack } = this.#parts;
    const startedAt = performance.now();
    let least = Number.POSITIVE_INFINITY;
    let progressAt = startedAt;
    let left = '';
    const observe = async () => {
      const observed: Observation[] = [];
      await observePersons(stack.backEndsUrl, persons.patched, (each) => observed.push(each));
      return observed;
    };
    let quietSince: number | undefined;
    const hasEnded = async () => {
      const persons = (await observe()).map((each) => ({ ...each, at: 0 }));
      const { violations } = checkHistory({ events: [...history.read(), ...persons] });
      const outstanding = violations.filter(isOutstanding).length;
      const missing = nothingMissing ? await countMissing(routers) : 0;
      const now = performance.now();
      if (outstanding + missing < least) [least, progressAt] = [outstanding + missing, now];
      quietSince = outstanding + missing === 0 ? (quietSince ?? now) : undefined;
      left = `${outstanding} changes have not reached MDM or another college, and ${missing} executions have not been repaired by a reconciler`;
      if (quietSince !== undefined && now - quietSince >= (nothingMissing ? quietMs : 0)) return (left = '') === '';
      return now - progressAt > timeoutMs * slack || now - startedAt > longestRestMs;
    };
    // `hasEnded` has shorter deadlines, which apply first.
    const options = { timeoutMs: 2 * longestRestMs, everyMs: restLookMs };
    await pollUntil('the run to settle', hasEnded, options);
    for (const person of await observe()) history.append(person);
    if (engine.redis !== undefined) await observeExecutions(engine.url, history.read(), (each) => history.append(each));
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    if (left !== '') return `${seconds} s after the load: ${left}`;
    this.notes.push(`all changes were reconciled ${seconds} s after the load`);
    return undefined;
  }

  /** Reports the state of each PATCH of which MDM was not notified. */
  describeUntold(): Promise<string[]> {
    const { engine, redis } = this.#parts;
    const untold = this.verdict().violations.filter(isUntold);
    return describeUntold(untold, { engine, redis, events: this.events(), texts: this.texts() });
  }

  levels(): Promise<Levels> {
    const { operationsUrl, router } = this.#parts.stack;
    return readLevels(operationsUrl, router.process.pid as number);
  }

  /**
   * Waits until the router's resources are back at the level of `before`. Returns a line for each resource that is
   * still above this level after 90 s × slack.
   */
  async untilBackAt(before: Levels): Promise<string[]> {
    let reasons: string[] = [];
    const isBack = async () => (reasons = notBack(before, await this.levels())).length === 0;
    const options = { timeoutMs: levelMs * this.#parts.slack, everyMs: 1_000 };
    await pollUntil('the router to release the resources of the load', isBack, options).catch(() => undefined);
    return reasons;
  }

  events(): AnyEvent[] {
    return this.#parts.history.read();
  }

  /** Returns the output of all processes so far. */
  texts(): WrittenText[] {
    const { endedTexts, routers, workers } = this.#parts;
    const running = [...routers, ...workers].map(({ name, program }) => ({ name, text: program().output() }));
    return [...endedTexts, ...running];
  }

  verdict(): Verdict {
    const { secrets, slack } = this.#parts;
    return checkHistory({ events: this.events(), texts: this.texts(), secrets: secrets(), slack });
  }

  async stop(): Promise<void> {
    const { operations, background, close } = this.#parts;
    this.#isOver = true;
    await Promise.allSettled([operations.end(), background.end()]);
    await close();
  }
}

export type World = WorldParts & WorldActions;

/** Returns the started parts with the functions that cases use. */
export const createWorld = (parts: WorldParts): World => Object.assign(new WorldActions(parts), parts);
