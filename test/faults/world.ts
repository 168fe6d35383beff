// Everything a case needs: a stack of real processes with proxies between them, clients, and one history of it all.

import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { BreakableProxy } from '../stack/breakable-proxy.ts';
import { pollUntil } from '../stack/poll-until.ts';
import type { RedisServer } from '../stack/redis-server.ts';
import type { SeededRandom } from '../stack/seeded-random.ts';
import type { Stack } from '../stack/stack.ts';
import type { BadBackEnd } from './bad-back-end.ts';
import { checkHistory, isOutstanding, isUntold, type Verdict, type WrittenText } from './check-history.ts';
import type { Component, ComponentKind, ProgramComponent } from './component.ts';
import type { GivenEngine } from './engine.ts';
import type { EngineProxy } from './engine-proxy.ts';
import type { AnyEvent, FaultDescription, History, Route } from './history.ts';
import { countMissing, type Levels, notBack, readLevels } from './levels.ts';
import { type Load, type LoadOptions, startLoad } from './load.ts';
import { describeUntold } from './untold.ts';
import type { Operations } from './operations.ts';
import { observeExecutions } from './observe-executions.ts';
import { type Observation, observePersons, type Persons } from './persons.ts';

/** What `startWorld` has started. */
export interface WorldParts {
  readonly stack: Stack;
  readonly engine: GivenEngine;
  readonly history: History;
  readonly random: SeededRandom;
  /** For the requests of a case. */
  readonly operations: Operations;
  /** For the load during a case, whose requests have other ids. */
  readonly background: Operations;
  /** Separate clients at another address of the first router. */
  readonly operationsAt: (url: string) => Operations;
  readonly persons: Persons;
  readonly proxies: {
    /** Router → engine, by bytes. */
    readonly engine: BreakableProxy;
    /** Proxy between router and engine that handles single calls; it is behind the other proxy. */
    readonly engineCalls: EngineProxy;
    /** Workers → back ends. */
    readonly backEnds: BreakableProxy;
    /** Workers → router. */
    readonly api: BreakableProxy;
  };
  /** Data warehouse and adaptor of college 666; good until told otherwise. */
  readonly badBackEnd: BadBackEnd;
  /** The routers' own, where a case has one, or the engine has no index. */
  readonly redis: RedisServer | undefined;
  readonly components: readonly Component[];
  readonly routers: readonly ProgramComponent[];
  /** The default pool of the first router comes first. */
  readonly workers: readonly ProgramComponent[];
  /** What processes wrote that are gone. */
  readonly endedTexts: readonly WrittenText[];
  readonly secrets: () => readonly string[];
  readonly close: () => Promise<void>;
}

const reads: readonly Route[] = ['movies', 'adaptor'];
/** Longer than an engine takes to start on a busy machine, in milliseconds; how long it took is judged apart. */
const servedMs = 90_000;
/** Idle connections live for 65 s; in milliseconds. */
const levelMs = 90_000;
/** Idle time after which a run counts as settled, in milliseconds: the reconciler runs every 3 s. */
const quietMs = 10_000;
/** Pause between two checks whether a run has settled; each check evaluates the whole history. */
const restLookMs = 3_000;
const longestRestMs = 1_800_000;
const mostProbes = 12;
/** A program that ends so often is not started again. */
const mostEnds = 20;
/** Pause between two checks whether this world is still running, in milliseconds. */
const watchMs = 1_000;

const isStore = ({ kind }: Component) => kind === 'PostgreSQL' || kind === "engine's Redis";

/** What cases do with a world. */
class WorldActions {
  readonly #parts: WorldParts;
  /** Number of processes that were killed with SIGKILL. */
  kills = 0;
  /** Problems that a case found, in addition to violated invariants. */
  readonly complaints: string[] = [];
  /** What happened that is neither good nor bad. */
  readonly notes: string[] = [];
  /** Output of programs that exited unexpectedly and were restarted. */
  readonly #ends = new Map<ProgramComponent, string[]>();
  #isOver = false;

  constructor(parts: WorldParts) {
    this.#parts = parts;
  }

  /** Records a complaint unless `fact` holds. */
  expect(fact: boolean, complaint: string): void {
    if (!fact) this.complaints.push(complaint);
  }

  /** Records that something breaks now; default: nothing is spared or known to break. */
  fault(fault: Partial<FaultDescription> & { readonly what: string }): void {
    this.#parts.history.append({ actor: 'nemesis', event: 'fault', spares: [], breaks: [], ...fault });
  }

  repaired(what: string): void {
    this.#parts.history.append({ actor: 'nemesis', event: 'repaired', what });
  }

  /** The n-th component of a kind. @throws Error when the world has none */
  component(kind: ComponentKind, index = 0): Component {
    const found = this.#parts.components.filter((each) => each.kind === kind)[index];
    if (found === undefined) throw new Error(`this world has no ${kind} ${index + 1}`);
    return found;
  }

  async kill(component: Component): Promise<void> {
    await component.kill();
    this.kills += 1;
  }

  /** Kills components at the same time and restarts them after a pause; resolves when the affected routes work again. */
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
    // At the same time: a request to one router that waits out its budget must not postpone those to another one.
    await Promise.all(victims.map(({ breaks: routes, stops: router }) => this.untilServed({ routes, router })));
  }

  /** Starts the load of a case. */
  startLoad(options: LoadOptions): Load {
    return startLoad(this.#parts.background, this.#parts.random, options);
  }

  /**
   * Starts a program again whenever it ends, as systemd does, until this world ends: what workers still offer to a
   * router can end it long after its clients have gone. @returns what each process wrote that ended
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
        // One that ends again before it is ready has ended once more.
        await component.start().catch(() => undefined);
        ends.push(ended.output());
      }
    };
    void watch();
    return ends;
  }

  /**
   * Asks each route every 200 ms until it has answered with success; it does not wait for the requests before, which
   * may wait out their budget, but there are never more than a few.
   * @throws Error after `timeoutMs`, default 90 s
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
    await pollUntil(label, probe, { timeoutMs, everyMs: 200 });
    await Promise.all(sent);
  }

  /**
   * Waits until MDM and all colleges know what succeeded, and, when `nothingMissing`, until no reconciler has work left.
   * It waits as long as there is progress: less is left to do than ever before within the last `timeoutMs`. What persons
   * have then is part of the history.
   * @returns a description of the pending work; undefined when there is none
   */
  async untilAtRest({
    timeoutMs,
    nothingMissing = false,
  }: {
    timeoutMs: number;
    nothingMissing?: boolean;
  }): Promise<string | undefined> {
    const { stack, persons, history, routers, engine } = this.#parts;
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
      left = `${outstanding} changes that MDM or a college does not know, ${missing} that a reconciler has not repaired`;
      if (quietSince !== undefined && now - quietSince >= (nothingMissing ? quietMs : 0)) return (left = '') === '';
      return now - progressAt > timeoutMs || now - startedAt > longestRestMs;
    };
    // Its own deadlines come first.
    const options = { timeoutMs: 2 * longestRestMs, everyMs: restLookMs };
    await pollUntil('everything to come to rest', hasEnded, options);
    for (const person of await observe()) history.append(person);
    if (engine.redis !== undefined) await observeExecutions(engine.url, history.read(), (each) => history.append(each));
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    if (left !== '') return `${seconds} s after the load: ${left}`;
    this.notes.push(`came to rest ${seconds} s after the load`);
    return undefined;
  }

  /** Reports where each PATCH is that MDM was not notified of. */
  describeUntold(): Promise<string[]> {
    const { engine, redis } = this.#parts;
    const untold = this.verdict().violations.filter(isUntold);
    return describeUntold(untold, { engine, redis, events: this.events(), texts: this.texts() });
  }

  levels(): Promise<Levels> {
    const { operationsUrl, router } = this.#parts.stack;
    return readLevels(operationsUrl, router.process.pid as number);
  }

  /** Waits until the router is back at `before`; why not, when it is not after 90 s. */
  async untilBackAt(before: Levels): Promise<string[]> {
    let reasons: string[] = [];
    const isBack = async () => (reasons = notBack(before, await this.levels())).length === 0;
    const options = { timeoutMs: levelMs, everyMs: 1_000 };
    await pollUntil('the router to be back at its level', isBack, options).catch(() => undefined);
    return reasons;
  }

  events(): AnyEvent[] {
    return this.#parts.history.read();
  }

  /** Everything that processes wrote so far. */
  texts(): WrittenText[] {
    const { endedTexts, routers, workers } = this.#parts;
    const running = [...routers, ...workers].map(({ name, program }) => ({ name, text: program().output() }));
    return [...endedTexts, ...running];
  }

  verdict(slack = 1): Verdict {
    return checkHistory({ events: this.events(), texts: this.texts(), secrets: this.#parts.secrets(), slack });
  }

  async stop(): Promise<void> {
    const { operations, background, close } = this.#parts;
    this.#isOver = true;
    await Promise.allSettled([operations.end(), background.end()]);
    await close();
  }
}

export type World = WorldParts & WorldActions;

/** Returns the started components with the functions that cases use. */
export const createWorld = (parts: WorldParts): World => Object.assign(new WorldActions(parts), parts);
