// The requests that clients make during a run, each written into the history when it leaves and when it ends.

import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { call, type CallOptions, type RouterAnswer } from '../stack/client.ts';
import type { History, Route } from './history.ts';

export interface OperationsOptions {
  readonly history: History;
  /** Addresses of the routers: each request goes to one at random. */
  readonly urls: readonly string[];
  readonly operationsUrl: string;
  /** An access token that may do everything a client may, as it is when a request leaves. */
  readonly token: () => string;
  /** Secret of the client `demo`. Default: that of the embedded identity provider. */
  readonly clientSecret?: string | undefined;
  /** `router.responseDeadlineMs`. */
  readonly budgetMs: number;
  /** False: what would be a PATCH is a PUT, and nobody waits for MDM. Default true. */
  readonly patches?: boolean | undefined;
  /** What the back end answers to reads, by public path. */
  readonly references: ReadonlyMap<string, string>;
}

/** How one request ended. */
export interface Outcome {
  readonly op: string;
  /** Undefined when the connection ended without a response. */
  readonly status: number | undefined;
  readonly problem: string | undefined;
  readonly executionId: string | undefined;
  /** The response to an earlier request with the same key. */
  readonly isReplay: boolean;
  readonly ms: number;
}

interface Request {
  readonly route: Route;
  readonly method?: string;
  /** Public path. */
  readonly path: string;
  /** What the back end sees at the end of its target; default: the path behind its first two segments. */
  readonly target?: string;
  readonly body?: string;
  readonly auth?: 'good' | 'bad';
  /** Says whether a 2xx body is the right one. */
  readonly isRight?: (answer: RouterAnswer) => boolean;
  readonly budgetMs?: number;
  /** The client leaves when it aborts. */
  readonly leave?: AbortSignal;
  /** The client's own `Idempotency-Key`. */
  readonly key?: string;
}

/** Persons of college 001 that are changed. */
export const persons = ['0318204', '0318766', '0319375', '0320991', '0322467', '0322903', '0324016'];
export const moviePath = '/movies/Metropolis';
export const termsPathOf = (mis: string) => `/adaptor/${mis}/mock/colleges/${mis}/terms`;
export const termsPath = termsPathOf('001');
/** How much longer than its budget a client waits before it gives up, in milliseconds. */
const patienceMs = 8_000;

/** A client repeats a keyed request after these statuses: 409 while the first one is under way. */
const repeatable: ReadonlySet<number> = new Set([409, 503, 504]);
/** Pause before it does, in milliseconds. */
const repeatMs = 500;
const putFields = { firstName: 'Faustine', lastName: 'Okafor' };
type WriteArguments = [method: string, person: { mis: string; id: string }, fields: { cccid: string }];

const pick = <T>(list: readonly T[]) => list[Math.floor(Math.random() * list.length)] as T;
export const newCccid = () => `F${randomBytes(6).toString('hex').toUpperCase()}`;
const personPath = (id: string, mis = '001') => `/mock/colleges/${mis}/persons/${id}`;

export class Operations {
  readonly #options: OperationsOptions;
  readonly #run = randomBytes(4).toString('hex');
  #count = 0;
  #isOver = false;
  readonly #inFlight = new Set<Promise<Outcome>>();
  /** Every cccid that was sent: personal values, to be found in no log. */
  readonly personalValues: string[] = [];

  constructor(options: OperationsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#count;
  }

  /** True when no load should send any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Ends every load and waits for what is in flight. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.settled();
  }

  /** Waits for what is in flight now. */
  async settled(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  movie = (leave?: AbortSignal) => this.#read('movies', moviePath, leave);
  terms = () => this.termsOf('001');
  termsOf = (mis: string) => this.#read('adaptor', termsPathOf(mis));
  /** A response of 8 MiB. */
  big = () =>
    this.#send({
      route: 'adaptor',
      path: '/adaptor/001/mock/faults/bytes/8388608',
      isRight: ({ bytes }) => bytes.length === 8_388_608,
    });
  /** Read of the data warehouse: the route whose back end misbehaves in some cases. */
  sync = () => this.#send({ route: 'lmsDW', path: '/lmsDW/001/dataSync/', target: '/001/dataSync/' });

  /** A change of which MDM has to hear. */
  patch = (leave?: AbortSignal) => (this.#options.patches === false ? this.put() : this.#change('PATCH', {}, leave));
  /** A change of which MDM does not hear. */
  put = () => this.#change('PUT', putFields);
  /** The same with a key of the client's own, repeated until its outcome is known or `giveUp` aborts. */
  keyedPatch = (giveUp: AbortSignal) => this.#repeat(this.#options.patches === false ? 'PUT' : 'PATCH', giveUp);
  keyedPut = (giveUp: AbortSignal) => this.#repeat('PUT', giveUp);
  /** A PATCH whose person and value the caller chooses. */
  patchPerson = (id: string, cccid: string, mis = '001') => this.#write('PATCH', { mis, id }, { cccid });
  patchAt = (path: string, body: string) =>
    this.#send({ route: 'lmsDW', method: 'PATCH', path, target: path.replace(/^\/adaptor\/[^/]+/, ''), body });

  refused = () =>
    this.#send({
      ...pick<Request>([
        { route: 'refused', path: moviePath, target: '/Metropolis', auth: 'bad' },
        {
          route: 'refused',
          method: 'PATCH',
          path: `/adaptor/001${personPath(pick(persons))}`,
          body: '{}',
          auth: 'bad',
        },
      ]),
    });
  token = () =>
    this.#send({
      route: 'token',
      method: 'POST',
      path: '/token/v1/token',
      body: `grant_type=client_credentials&client_id=demo&client_secret=${this.#options.clientSecret ?? 'demo-secret'}`,
      budgetMs: 6_000,
    });
  health = () => this.#send({ route: 'health', path: '/health/live', budgetMs: 2_000 });

  #read(route: Route, path: string, leave?: AbortSignal): Promise<Outcome> {
    const isRight = (answer: RouterAnswer) => answer.text === this.#options.references.get(path);
    return this.#send({ route, path, isRight, ...(leave === undefined ? {} : { leave }) });
  }

  #change(method: 'PATCH' | 'PUT', fields: object, leave?: AbortSignal): Promise<Outcome> {
    return this.#write(method, { mis: '001', id: pick(persons) }, { ...fields, cccid: newCccid() }, leave);
  }

  /** Repeats after what says nothing of the outcome, and after what says that nothing was started (docs/async.md). */
  async #repeat(method: 'PATCH' | 'PUT', giveUp: AbortSignal): Promise<Outcome> {
    const fields = { ...(method === 'PUT' ? putFields : {}), cccid: newCccid() };
    const request = this.#writeRequest(method, { mis: '001', id: pick(persons) }, fields);
    const keyed = { ...request, key: randomUUID() };
    for (;;) {
      const outcome = await this.#send(keyed);
      const isKnown = outcome.isReplay || (outcome.status !== undefined && !repeatable.has(outcome.status));
      if (isKnown || giveUp.aborted || this.#isOver) return outcome;
      await pause(repeatMs, undefined, { signal: giveUp }).catch(() => undefined);
    }
  }

  #write(...[method, person, fields, leave]: [...WriteArguments, leave?: AbortSignal]): Promise<Outcome> {
    return this.#send({ ...this.#writeRequest(method, person, fields), ...(leave === undefined ? {} : { leave }) });
  }

  #writeRequest(...[method, { mis, id }, fields]: WriteArguments): Request {
    this.personalValues.push(fields.cccid);
    const isRight = (answer: RouterAnswer) => answer.json<{ cccid: string }>().cccid === fields.cccid;
    const body = JSON.stringify(fields);
    return { route: 'adaptor', method, path: `/adaptor/${mis}${personPath(id, mis)}`, body, isRight };
  }

  #send(request: Request): Promise<Outcome> {
    const sent = this.#sendOne(request);
    this.#inFlight.add(sent);
    void sent.finally(() => this.#inFlight.delete(sent));
    return sent;
  }

  async #sendOne({ auth = 'good', method = 'GET', leave, ...request }: Request): Promise<Outcome> {
    const { history, urls, operationsUrl, budgetMs: usual } = this.#options;
    const op = `op-${this.#run}-${String((this.#count += 1)).padStart(6, '0')}`;
    const {
      route,
      path,
      body,
      budgetMs = usual,
      target = path.replace(/^\/[^/]+\/[^/]+(?=\/)|^\/movies/, ''),
    } = request;
    const router = pick(urls);
    const { key } = request;
    history.append({ actor: 'client', event: 'invoke', op, route, method, target, budgetMs, auth, key, router });
    const startedAt = performance.now();
    const since = () => performance.now() - startedAt;
    const deadline = AbortSignal.timeout(budgetMs + patienceMs);
    const signal = leave === undefined ? deadline : AbortSignal.any([leave, deadline]);
    const options: CallOptions = { method, headers: this.#headers(op, request, auth), signal };
    if (body !== undefined) options.body = body;
    try {
      const answer = await call(`${route === 'health' ? operationsUrl : router}${path}`, options);
      return this.#answered(op, answer, { request, ms: since() });
    } catch (error) {
      const { code, cause, name, message } = error as Error & { code?: string; cause?: { code?: string } };
      history.append({ actor: 'client', event: 'closed', op, reason: leave?.aborted ? 'gone' : describe() });
      return { op, status: undefined, problem: undefined, executionId: undefined, isReplay: false, ms: since() };
      function describe() {
        return code ?? cause?.code ?? `${name}: ${message}`;
      }
    }
  }

  #answered(op: string, answer: RouterAnswer, { request, ms }: { request: Request; ms: number }): Outcome {
    const { status, headers } = answer;
    const problem = problemOf(answer);
    const executionId = headers['x-execution-id'] as string | undefined;
    const right = status === 200 && request.isRight !== undefined ? isRight(answer, request.isRight) : undefined;
    this.#options.history.append({ actor: 'client', event: 'answer', op, status, problem, executionId, right });
    return { op, status, problem, executionId, isReplay: headers['idempotency-replayed'] === 'true', ms };
  }

  #headers(op: string, { route, body, key }: Request, auth: 'good' | 'bad'): Record<string, string> {
    const token = this.#options.token();
    // Its signature is cut: everything else about it is right.
    const bearer = auth === 'good' ? token : token.slice(0, -8);
    const type = route === 'token' ? 'application/x-www-form-urlencoded' : 'application/json';
    return {
      'x-request-id': op,
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...(route === 'token' || route === 'health' ? {} : { authorization: `bearer ${bearer}` }),
      ...(body === undefined ? {} : { 'content-type': type }),
    };
  }
}

function problemOf(answer: RouterAnswer): string | undefined {
  if (answer.headers['content-type'] !== 'application/problem+json') return undefined;
  const { type } = answer.json<{ type?: string }>();
  return type?.startsWith('/problems/') ? type.slice('/problems/'.length) : undefined;
}

function isRight(answer: RouterAnswer, check: (answer: RouterAnswer) => boolean): boolean {
  try {
    return check(answer);
  } catch {
    return false;
  }
}
