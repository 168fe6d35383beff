// Everything a case needs: a stack of real processes with proxies between them, clients, and one history of it all.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BreakableProxy, startBreakableProxy } from '../stack/breakable-proxy.ts';
import { tokenOf } from '../stack/client.ts';
import { freePort } from '../stack/free-port.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { type Program, startProgram } from '../stack/program.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { type BadBackEnd, startBadBackEnd } from './bad-back-end.ts';
import { checkHistory, type Violation, type WrittenText } from './check-history.ts';
import type { FaultEngine } from './engine.ts';
import { type EngineProxy, startEngineProxy } from './engine-proxy.ts';
import { type AnyEvent, History, type Route } from './history.ts';
import { type Levels, notBack, readLevels } from './levels.ts';
import { moviePath, Operations, termsPath } from './operations.ts';
import { supervise, type Supervised, type Supervisor } from './supervisor.ts';

export interface WorldOptions {
  /** `router.responseDeadlineMs`; default 6000, so that a lost request does not cost half a minute. */
  readonly budgetMs?: number;
  readonly router?: Record<string, string>;
  readonly workers?: Record<string, string>;
  readonly identityProvider?: Record<string, string>;
  /** A second router on the same engine, with workers of its own; clients use both. */
  readonly secondRouter?: boolean;
  /** False: no PATCH is sent, so that nobody has to wait for MDM. Default true. */
  readonly patches?: boolean;
}

/** The engine's address is enough where nobody harms it. */
export type GivenEngine = Pick<FaultEngine, 'url'> & Partial<FaultEngine>;

export interface World {
  readonly stack: Stack;
  /** The second router, where a case has one. */
  readonly second: Program | undefined;
  readonly engine: GivenEngine;
  readonly history: History;
  readonly operations: Operations;
  readonly budgetMs: number;
  readonly proxies: {
    /** Router → engine, by bytes. */
    engine: BreakableProxy;
    /** Router → engine, by calls; it stands behind the other. */
    engineCalls: EngineProxy;
    /** Workers → back ends. */
    backEnds: BreakableProxy;
    /** Workers → router. */
    api: BreakableProxy;
  };
  /** Data warehouse and adaptor of college 666; good until told otherwise. */
  readonly badBackEnd: BadBackEnd;
  /** Counted: processes that were ended with SIGKILL. */
  kills: number;
  /** What a case found wrong besides the invariants. */
  readonly complaints: string[];
  /** What happened that is neither good nor bad. */
  readonly notes: string[];
  note(text: string): void;
  /** Records a complaint unless `fact` holds. */
  expect(fact: boolean, complaint: string): void;
  /** @param stops address of a router that cannot respond until the fault is repaired */
  fault(what: string, spares?: readonly Route[], stops?: string): void;
  repaired(what: string): void;
  /** Ends the default pool's workers, or the router, with SIGKILL. */
  killWorkers(): Promise<void>;
  killRouter(): Promise<void>;
  startWorkers(): Promise<void>;
  /** Starts another in the place of the default pool's workers, or of the router, which have ended by themselves. */
  replaceWorkers(): Promise<void>;
  replaceRouter(): Promise<void>;
  /** From now on until this world ends; what workers still offer to a router can end it long after its clients have gone. */
  supervise(program: Supervised): Supervisor;
  /** Sends reads until both routes have answered one with success. @throws Error after `timeoutMs`, default 30 s */
  untilServed(timeoutMs?: number): Promise<void>;
  /** Waits until MDM has heard of every PATCH that was answered with success; false when it never does. */
  untilMdmHeard(timeoutMs: number): Promise<boolean>;
  levels(): Promise<Levels>;
  /** Waits until the router is back at `before`; why not, when it is not after 90 s: idle connections live for 65 s. */
  untilBackAt(before: Levels): Promise<string[]>;
  events(): AnyEvent[];
  violations(slack?: number): Violation[];
  stop(): Promise<void>;
}

/** Starts it on an engine that runs; both pools of workers poll, and one request has been answered. */
export async function startWorld(engine: GivenEngine, options: WorldOptions = {}): Promise<World> {
  const dir = mkdtempSync(join(tmpdir(), 'service-router-faults-'));
  const history = new History(join(dir, 'history.jsonl'));
  const { budgetMs = 6_000, patches } = options;
  const [routerPort, backEndsPort] = [await freePort(), await freePort()];
  const badBackEnd = await startBadBackEnd(history.file);
  const engineCalls = await startEngineProxy(engine.url);
  const proxies = {
    engineCalls,
    engine: await startBreakableProxy(engineCalls.url),
    backEnds: await startBreakableProxy(`http://127.0.0.1:${backEndsPort}`),
    api: await startBreakableProxy(`http://127.0.0.1:${routerPort}`),
  };
  const stack = await startStack({
    engineUrl: proxies.engine.url,
    // Its back ends answer what nobody could describe.
    anyAnswer: true,
    router: {
      ROUTER_PORT: String(routerPort),
      ROUTER_RESPONSEDEADLINEMS: String(budgetMs),
      // A case cannot wait for minutes.
      ROUTER_KEEPALIVETIMEOUTMS: '8000',
      RECONCILER_INTERVALMS: '3000',
      RECONCILER_AFTERMS: '10000',
      ...options.router,
    },
    workers: {
      CONDUCTOR_APIURL: `${proxies.api.url}/conductor/api`,
      ADAPTOR_001_URL: `${proxies.backEnds.url}/adaptors/001`,
      ADAPTOR_002_URL: `${proxies.backEnds.url}/adaptors/002`,
      MOVIES_URL: `${proxies.backEnds.url}/movies`,
      MDM_URL: `${proxies.backEnds.url}/mdm`,
      LMSDW_URL: badBackEnd.url,
      ADAPTOR_666_URL: badBackEnd.url,
      ...options.workers,
    },
    backEnds: { BACKENDS_PORT: String(backEndsPort), BACKENDS_HISTORY_FILE: history.file },
    ...(options.identityProvider === undefined ? {} : { identityProvider: options.identityProvider }),
  });
  const token = await tokenOf(stack.url);
  const { url, operationsUrl } = stack;
  const second = options.secondRouter === true ? await startSecondRouter(stack) : undefined;
  const urls = second === undefined ? [url] : [url, String(second.ready['url'])];
  const references = await readReferences(stack.backEndsUrl);
  const operations = new Operations({
    history,
    urls,
    operationsUrl,
    token: () => token,
    budgetMs,
    references,
    patches,
  });
  const world = assemble({ dir, stack, second, badBackEnd, engine, history, operations, budgetMs, proxies, token });
  await world.untilServed(startMs);
  await warmUp(operations);
  return world;
}

/** Its workers poll nobody else; they belong to the stack and stop with it. */
async function startSecondRouter(stack: Stack): Promise<Program> {
  const second = await startProgram('gateway/main.ts', { ...stack.routerEnv, ROUTER_PORT: '0' });
  await stack.addWorkers({ CONDUCTOR_APIURL: `${String(second.ready['url'])}/conductor/api` });
  return second;
}

/** The responses of the stand-ins to the reads that clients make. */
async function readReferences(backEndsUrl: string): Promise<Map<string, string>> {
  const read = async (path: string) => (await fetch(`${backEndsUrl}${path}`)).text();
  return new Map([
    [moviePath, await read(moviePath)],
    [termsPath, await read(termsPath.replace('/adaptor/', '/adaptors/'))],
  ]);
}

type Parts = Pick<
  World,
  'second' | 'stack' | 'engine' | 'history' | 'operations' | 'budgetMs' | 'proxies' | 'badBackEnd'
> & {
  dir: string;
  token: string;
};

function assemble({ dir, token, ...parts }: Parts): World {
  const { stack, history, operations, proxies } = parts;
  /** What processes wrote that are gone. */
  const texts: WrittenText[] = [];
  const supervisors: Supervisor[] = [];
  const secrets = () => [token, ...knownSecrets, ...operations.personalValues.slice(-500)];
  const evidence = () => ({
    events: history.read(),
    texts: [
      ...texts,
      { name: 'router', text: stack.router.output() },
      { name: 'second-router', text: parts.second?.output() ?? '' },
      ...stack.workers.map((workers) => ({ name: 'workers', text: workers.output() })),
    ],
    secrets: secrets(),
  });
  const world: World = {
    ...parts,
    kills: 0,
    complaints: [],
    notes: [],
    note: (text) => void world.notes.push(text),
    expect(fact, complaint) {
      if (!fact) world.complaints.push(complaint);
    },
    fault: (what, spares = [], stops) => history.append({ actor: 'nemesis', event: 'fault', what, spares, stops }),
    repaired: (what) => history.append({ actor: 'nemesis', event: 'repaired', what }),
    async killWorkers() {
      const workers = stack.workers.shift();
      await workers?.kill();
      texts.push({ name: 'workers', text: workers?.output() ?? '' });
      world.kills += 1;
    },
    async killRouter() {
      await stack.router.kill();
      texts.push({ name: 'router', text: stack.router.output() });
      world.kills += 1;
    },
    async startWorkers() {
      const added = await stack.addWorkers();
      // The default pool stays the first.
      stack.workers.pop();
      stack.workers.unshift(added);
    },
    async replaceWorkers() {
      await stack.addWorkers();
      const [ended] = stack.workers.splice(0, 1, stack.workers.pop() as Program);
      texts.push({ name: 'workers', text: ended?.output() ?? '' });
    },
    async replaceRouter() {
      const ended = stack.router;
      await stack.restartRouter();
      texts.push({ name: 'router', text: ended.output() });
    },
    supervise(program) {
      const supervisor = supervise(program);
      supervisors.push(supervisor);
      return supervisor;
    },
    untilServed: (timeoutMs = 30_000) => untilServed(operations, timeoutMs),
    untilMdmHeard: (timeoutMs) =>
      pollUntil('MDM to hear of every PATCH', () => unheard(history.read()).length === 0, {
        timeoutMs,
        everyMs: 1_000,
      }).catch(() => false),
    levels: () => readLevels(stack.operationsUrl, stack.router.process.pid as number),
    async untilBackAt(before) {
      let reasons: string[] = [];
      const isBack = async () => (reasons = notBack(before, await world.levels())).length === 0;
      const options = { timeoutMs: 90_000, everyMs: 1_000 };
      await pollUntil('the router to be back at its level', isBack, options).catch(() => undefined);
      return reasons;
    },
    events: () => history.read(),
    violations: (slack = 1) => checkHistory({ ...evidence(), slack }),
    async stop() {
      await Promise.allSettled(supervisors.map((supervisor) => supervisor.stop()));
      for (const proxy of [proxies.engine, proxies.backEnds, proxies.api]) await proxy.repair();
      proxies.engineCalls.mood = 'pass';
      await parts.second?.stop();
      await stack.stop();
      await parts.badBackEnd.stop();
      await Promise.all(Object.values(proxies).map((proxy) => proxy.stop()));
      keepOrRemove(dir, evidence().texts);
    },
  };
  return world;
}

/** `KEEP_HISTORY=1` keeps the history and what the processes wrote, for who wants to look at them. */
function keepOrRemove(dir: string, texts: readonly WrittenText[]): void {
  if (process.env['KEEP_HISTORY'] === undefined) return rmSync(dir, { recursive: true, force: true });
  for (const [index, { name, text }] of texts.entries()) writeFileSync(join(dir, `${name}-${index}.log`), text);
  process.stderr.write(`kept ${dir}\n`);
}

const knownSecrets = ['demo-secret', 'worker-secret', 'ops-secret'];

/**
 * Reads of both kinds every 200 ms until each has been answered; it does not wait for the ones before, which may wait
 * out their budget, but there are never more than a few.
 */
async function untilServed(operations: Operations, timeoutMs: number): Promise<void> {
  const sent = new Set<Promise<unknown>>();
  const unserved = new Set([operations.movie, operations.terms]);
  const probe = () => {
    for (const read of unserved) {
      if (sent.size >= mostProbes) break;
      const probing: Promise<unknown> = read().then(({ status }) => {
        if (status === 200) unserved.delete(read);
        sent.delete(probing);
      });
      sent.add(probing);
    }
    return unserved.size === 0;
  };
  await pollUntil('requests to be answered', probe, { timeoutMs, everyMs: 200 });
  await Promise.all(sent);
}

const mostProbes = 12;
/** A cold engine on a busy machine may take this long until it has answered its first requests, in milliseconds. */
const startMs = 120_000;

/** A cold engine is slow: what is tried should not be that. */
async function warmUp({ movie, terms, put, patch }: Operations): Promise<void> {
  for (let round = 0; round < 5; round++) await Promise.all([movie(), terms(), put()]);
  await patch();
}

/** PATCHes that were answered with success and of which MDM has not heard. */
function unheard(events: readonly AnyEvent[]): string[] {
  return checkHistory({ events })
    .filter(({ invariant, what }) => invariant === 'I2' && what.includes('did not hear'))
    .map(({ subject }) => subject);
}
