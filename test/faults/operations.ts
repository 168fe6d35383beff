// Sends the requests of clients during a run, and records each one in the history when it is sent and when it ends.

import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { call, type CallOptions, type RouterAnswer } from '../stack/client.ts';
import type { SeededRandom } from '../stack/seeded-random.ts';
import type { History, Route } from './history.ts';
import { newCccid, type Person, type Persons, pick } from './persons.ts';

export interface OperationsOptions {
  readonly history: History;
  readonly random: SeededRandom;
  /**
   * Addresses of the routers: each request goes to a random router, and to another one if that router refuses
   * connections.
   */
  readonly urls: readonly string[];
  readonly operationsUrls: readonly string[];
  /** Returns the current access token, which allows everything that a client may do. */
  readonly token: () => string;
  /** Secret of the client `demo`. */
  readonly clientSecret: string;
  /** `router.responseDeadlineMs`. */
  readonly budgetMs: number;
  /** False: sends PUT instead of PATCH, so that MDM is not involved. Default: true. */
  readonly patches?: boolean | undefined;
  /** The back end's expected responses to reads, by public path. */
  readonly references: ReadonlyMap<string, string>;
  /** The persons, shared by all senders of PATCHes in one run. */
  readonly persons: Persons;
}

/** How one request ended. */
export interface Outcome {
  readonly op: string;
  /** HTTP status; undefined when the connection ended without a response. */
  readonly status: number | undefined;
  readonly problem: string | undefined;
  readonly executionId: string | undefined;
  /** True for a replayed response to an earlier request with the same key. */
  readonly isReplay: boolean;
  readonly isRefused: boolean;
}

interface Request {
  readonly route: Route;
  /** Method in the history; the request is sent as GET when `asksFor` is given. */
  readonly method?: string;
  /** Public path. */
  readonly path: string;
  /** Last part of the request target at the back end; default: the path after its route and MIS code. */
  readonly target?: string;
  readonly body?: string;
  readonly auth?: 'good' | 'bad';
  /** True to send no token. Default: for bad `auth`, a token with a truncated signature. */
  readonly withoutToken?: boolean;
  /** Returns whether a 2xx body is correct. */
  readonly isRight?: (answer: RouterAnswer) => boolean;
  readonly budgetMs?: number;
  /** The client disconnects when this signal aborts. */
  readonly leave?: AbortSignal | undefined;
  /** The client's own `Idempotency-Key`. */
  readonly key?: string;
  /** The key as sent; with or without quotation marks, it is the same key (RFC 9651 string). */
  readonly spelledKey?: string;
  /** Value of the `Prefer` header. */
  readonly prefer?: string;
  /** The operation whose outcome this request asks for. */
  readonly asksFor?: string;
  /** Address of the router that receives the request. Default: any. */
  readonly router?: string | undefined;
}

export const moviePath = '/movies/Metropolis';
export const termsPath = '/adaptor/001/mock/colleges/001/terms';
/** Time for which a client waits beyond the deadline, in milliseconds. */
const patienceMs = 8_000;
/** Longest time after which a leaving client disconnects, in milliseconds. */
const longestStayMs = 400;
/** How long a request for an outcome may wait for that outcome, in seconds. */
const askSeconds = 3;

/** Statuses after which a client repeats a keyed request; 409: the first request is still in progress. */
const repeatable: ReadonlySet<number> = new Set([409, 503, 504]);
/** Pause before a client repeats a request, in milliseconds. */
const repeatMs = 500;
const putFields = { firstName: 'Faustine', lastName: 'Okafor' };

export class Operations {
  readonly #options: OperationsOptions;
  /** Prefix of every request id of this object. */
  readonly prefix = `op-${randomBytes(4).toString('hex')}-`;
  #count = 0;
  #refused = 0;
  #isOver = false;
  readonly #inFlight = new Set<Promise<Outcome>>();

  constructor(options: OperationsOptions) {
    this.#options = options;
  }

  /** Number of requests, excluding those whose connection was refused. */
  get count(): number {
    return this.#count - this.#refused;
  }

  /** True when the loads must stop sending. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Ends every load and waits for requests in flight. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.settled();
  }

  /** Waits for the requests that are in flight now. */
  async settled(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  movie = (leave?: AbortSignal) => this.#send({ ...this.#readOf('movies', moviePath), leave });
  terms = () => this.#send(this.#readOf('adaptor', termsPath));
  /** Sends a read or a PATCH whose client disconnects, before or after the response. */
  left = () => {
    const { random } = this.#options;
    const leave = AbortSignal.timeout(Math.ceil(random.between(1, longestStayMs)));
    return random.below(4) === 0 ? this.patch(leave) : this.movie(leave);
  };
  /** Sends a request whose response body is 8 MiB long. */
  big = () =>
    this.#send({
      route: 'adaptor',
      path: '/adaptor/001/mock/faults/bytes/8388608',
      isRight: ({ bytes }) => bytes.length === 8_388_608,
    });
  /** Sends a read to the data warehouse, which misbehaves in some cases. */
  sync = () => this.#send(syncRequest);
  /** Sends one request to a route, through the given router if there is one. */
  probe(route: Route, router?: string): Promise<Outcome> {
    if (route === 'keyed') return this.keyed(AbortSignal.abort(), router);
    const requests: Partial<Record<Route, Request>> = {
      ...{ movies: this.#readOf('movies', moviePath), adaptor: this.#readOf('adaptor', termsPath) },
      ...{ lmsDW: syncRequest, token: this.#tokenRequest, health: healthRequest },
    };
    return this.#send({ ...(requests[route] ?? noRoute), router });
  }

  /** Sends a change of which MDM must be notified. */
  patch = (leave?: AbortSignal) => this.#change(this.#patchMethod, (request) => this.#send({ ...request, leave }));
  /** Sends a change of which MDM is not notified. */
  put = () => this.#change('PUT', (request) => this.#send(request));
  /** Sends a write with the client's own key, and repeats it until its outcome is known or `giveUp` aborts. */
  keyed = (giveUp: AbortSignal, router?: string) =>
    this.#change(this.#anyWrite(), (request) => this.#repeat({ ...request, router }, giveUp));
  /** Sends a write that is accepted with 202, then asks for the outcome until it is known or `giveUp` aborts. */
  later = (giveUp: AbortSignal) => this.#change(this.#anyWrite(), (request) => this.#fetchLater(request, giveUp));
  patchAt = (path: string, body: string) =>
    this.#send({ route: 'lmsDW', method: 'PATCH', path, target: path.replace(/^\/adaptor\/[^/]+/, ''), body });

  /** Sends a request that needs no execution: without a good token (401), or for a path that does not exist (404). */
  refused = () => this.#send(pick(this.#options.random, refusedRequests));
  token = () => this.#send(this.#tokenRequest);
  health = () => this.#send(healthRequest);

  get #tokenRequest(): Request {
    const body = `grant_type=client_credentials&client_id=demo&client_secret=${this.#options.clientSecret}`;
    return { route: 'token', method: 'POST', path: '/token/v1/token', body, budgetMs: 6_000 };
  }

  get #patchMethod() {
    return this.#options.patches === false ? 'PUT' : 'PATCH';
  }

  #anyWrite() {
    return this.#options.random.below(2) === 0 ? 'PUT' : this.#patchMethod;
  }

  #readOf(route: Route, path: string): Request {
    return { route, path, isRight: (answer) => answer.text === this.#options.references.get(path) };
  }

  /** Changes a person. If possible, PATCHes of one person do not overlap, so that the last value is known. */
  async #change(method: string, send: (request: Request) => Promise<Outcome>): Promise<Outcome> {
    const { persons, random } = this.#options;
    const cccid = newCccid();
    if (method === 'PUT')
      return send(this.#writeRequest('PUT', pick(random, persons.replaced), { ...putFields, cccid }));
    return persons.withOne(random, (person) => send(this.#writeRequest('PATCH', person, { cccid })));
  }

  #writeRequest(method: string, { mis, id }: Person, fields: { cccid: string }): Request {
    const isRight = (answer: RouterAnswer) => answer.json<{ cccid: string }>().cccid === fields.cccid;
    const path = `/adaptor/${mis}/mock/colleges/${mis}/persons/${id}`;
    return { route: 'adaptor', method, path, body: JSON.stringify(fields), isRight };
  }

  /**
   * Repeats a keyed request after responses that leave the outcome unknown or say that nothing was started
   * (docs/how-to/call-asynchronously.md).
   */
  async #repeat(request: Request, giveUp: AbortSignal): Promise<Outcome> {
    const key = `${this.prefix}${randomBytes(8).toString('hex')}`;
    for (let count = 0; ; count++) {
      const spelledKey = count % 2 === 0 ? key : `"${key}"`;
      const outcome = await this.#send({ ...request, route: 'keyed', key, spelledKey });
      const isKnown = outcome.isReplay || (outcome.status !== undefined && !repeatable.has(outcome.status));
      if (isKnown || giveUp.aborted || this.#isOver) return outcome;
      await pause(repeatMs, undefined, { signal: giveUp }).catch(() => undefined);
    }
  }

  async #fetchLater(request: Request, giveUp: AbortSignal): Promise<Outcome> {
    const accepted = await this.#send({ ...request, prefer: 'respond-async' });
    const { status, executionId, op } = accepted;
    if (status !== 202 || executionId === undefined) return accepted;
    const { target = targetOf(request.path), route, method = 'GET', isRight } = request;
    const asking: Request = {
      ...{ route, method, target, path: `/executions/${executionId}/response`, asksFor: op },
      ...{ prefer: `wait=${askSeconds}`, budgetMs: this.#options.budgetMs + askSeconds * 1_000 },
      ...(isRight === undefined ? {} : { isRight }),
    };
    for (;;) {
      const outcome = await this.#send(asking);
      const isPending = outcome.problem === 'answer-pending' || outcome.status === undefined || outcome.status === 503;
      if (!isPending || giveUp.aborted || this.#isOver) return outcome;
      await pause(repeatMs, undefined, { signal: giveUp }).catch(() => undefined);
    }
  }

  /**
   * Tries one router after another while the routers refuse the connection: a router that refuses a connection has
   * received nothing.
   */
  #send(request: Request): Promise<Outcome> {
    const sending = async () => {
      const { random, urls } = this.#options;
      const { router } = request;
      if (router !== undefined) return this.#sendOne(request, urls.indexOf(router));
      const first = random.below(urls.length);
      for (let turn = 0; ; turn++) {
        const outcome = await this.#sendOne(request, (first + turn) % urls.length);
        if (!outcome.isRefused || turn + 1 === urls.length) return outcome;
      }
    };
    const sent = sending();
    this.#inFlight.add(sent);
    void sent.finally(() => this.#inFlight.delete(sent));
    return sent;
  }

  async #sendOne(request: Request, index: number): Promise<Outcome> {
    const { history, urls, operationsUrls, budgetMs: usual } = this.#options;
    const { route, path, body, key, asksFor, leave, auth = 'good', method = 'GET', budgetMs = usual } = request;
    const op = `${this.prefix}${String((this.#count += 1)).padStart(6, '0')}`;
    const { target = targetOf(path) } = request;
    const router = urls[index] as string;
    const asked = { actor: 'client', event: 'invoke', op, route, method, target, budgetMs, auth, router } as const;
    // A request for the outcome of an execution belongs to the operation of the request that started the execution.
    history.append({ ...asked, operation: key ?? asksFor });
    const deadline = AbortSignal.timeout(budgetMs + patienceMs);
    const options: CallOptions = {
      method: asksFor === undefined ? method : 'GET',
      headers: this.#headers(op, request),
      signal: leave === undefined ? deadline : AbortSignal.any([leave, deadline]),
      ...(body === undefined ? {} : { body }),
    };
    try {
      const base = route === 'health' ? (operationsUrls[index] as string) : router;
      return this.#answered(op, await call(`${base}${path}`, options), request);
    } catch (error) {
      const reason = leave?.aborted ? 'gone' : describe(error as Error & { code?: string });
      history.append({ actor: 'client', event: 'closed', op, reason });
      const isRefused = reason === 'ECONNREFUSED';
      if (isRefused) this.#refused += 1;
      return { op, status: undefined, problem: undefined, executionId: undefined, isReplay: false, isRefused };
    }
  }

  #answered(op: string, answer: RouterAnswer, request: Request): Outcome {
    const { status, headers } = answer;
    const problem = problemOf(answer);
    const executionId = headers['x-execution-id'] as string | undefined;
    const right = status === 200 && request.isRight !== undefined ? isRight(answer, request.isRight) : undefined;
    this.#options.history.append({ actor: 'client', event: 'answer', op, status, problem, executionId, right });
    const isReplay = headers['idempotency-replayed'] === 'true';
    return { op, status, problem, executionId, isReplay, isRefused: false };
  }

  #headers(op: string, { route, body, spelledKey, prefer, auth, withoutToken }: Request): Record<string, string> {
    const token = this.#options.token();
    // Only the signature is wrong.
    const bearer = auth === 'bad' ? token.slice(0, -8) : token;
    const isOpen = route === 'token' || route === 'health' || withoutToken === true;
    const type = route === 'token' ? 'application/x-www-form-urlencoded' : 'application/json';
    return {
      'x-request-id': op,
      ...(spelledKey === undefined ? {} : { 'idempotency-key': spelledKey }),
      ...(prefer === undefined ? {} : { prefer }),
      ...(isOpen ? {} : { authorization: `bearer ${bearer}` }),
      ...(body === undefined ? {} : { 'content-type': type }),
    };
  }
}

const syncRequest: Request = { route: 'lmsDW', path: '/lmsDW/001/dataSync/', target: '/001/dataSync/' };
const healthRequest: Request = { route: 'health', path: '/health/live', budgetMs: 2_000 };
const noRoute: Request = { route: 'refused', path: '/no-such-route' };
const refusedWrite = '/adaptor/001/mock/colleges/001/persons/0318204';
const refusedRequests: readonly Request[] = [
  { route: 'refused', path: moviePath, auth: 'bad' },
  { route: 'refused', path: moviePath, auth: 'bad', withoutToken: true },
  { route: 'refused', method: 'PATCH', path: refusedWrite, body: '{}', auth: 'bad' },
  noRoute,
];

const targetOf = (path: string) => path.replace(/^\/[^/]+\/[^/]+(?=\/)|^\/movies/, '');

const describe = ({ code, cause, name, message }: Error & { code?: string }) =>
  code ?? (cause as { code?: string } | undefined)?.code ?? `${name}: ${message}`;

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
