// An API client that gets a token and calls the router with it.

import { Agent } from 'undici';
import type { OpenApiDocument } from '#lib/openapi/openapi.ts';
import { type AnswerChecker, createAnswerChecker, type ReceivedAnswer } from './described-answers.ts';

export interface RouterAnswer extends ReceivedAnswer {
  text: string;
  /** Returns the body parsed as JSON; throws when it is not JSON. */
  json<T = Record<string, unknown>>(): T;
}

export interface CallOptions {
  method?: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
  /** A body to send as JSON, with its `content-type`. */
  json?: unknown;
  signal?: AbortSignal;
  /**
   * Reason why the router's OpenAPI document need not describe the response, for the few tests in which a back end or
   * the engine sends a response that no document could describe.
   */
  undescribed?: string;
}

const secrets: Record<string, string> = {
  demo: 'demo-secret',
  reader: 'reader-secret',
  worker: 'worker-secret',
  ops: 'ops-secret',
};

/** Connections are not reused, because they would be dead after a restart of the router. */
const agent = new Agent({ pipelining: 0, connections: 200 });

/** Returns an access token of a client, from the router's own token path. */
export async function tokenOf(url: string, client = 'demo', secret = secrets[client]): Promise<string> {
  const answer = await call(`${url}/token/v1/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `grant_type=client_credentials&client_id=${client}&client_secret=${secret}`,
  });
  if (answer.status !== 200) throw new Error(`no token for ${client}: ${answer.status} ${answer.text}`);
  return answer.json<{ access_token: string }>().access_token;
}

const checkers = new Map<string, AnswerChecker>();

/** Makes `call` throw, from now on, for responses from this router that its OpenAPI document does not describe. */
export async function checkAnswersOf(url: string): Promise<AnswerChecker> {
  const answer = await call(`${url}/openapi.json`);
  const checker = createAnswerChecker(answer.json<OpenApiDocument & Record<string, unknown>>());
  checkers.set(url, checker);
  return checker;
}

/** Turns off the check of responses from this address. */
export function describeNothingOf(url: string): void {
  checkers.delete(url);
}

/**
 * Sends a request and returns the response, whatever its status.
 * @throws Error when the router's OpenAPI document does not describe the response (see {@link checkAnswersOf})
 */
export async function call(
  target: string,
  { method = 'GET', headers, body, json, signal, undescribed }: CallOptions = {},
): Promise<RouterAnswer> {
  // Origin and path are split by hand, because a URL object would normalise the path.
  const slash = target.indexOf('/', target.indexOf('//') + 2);
  const origin = slash === -1 ? target : target.slice(0, slash);
  const path = slash === -1 ? '/' : target.slice(slash);
  const response = await agent.request({
    origin,
    path,
    method: method as 'GET',
    headers: { ...(json === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    body: json === undefined ? (body ?? null) : JSON.stringify(json),
    ...(signal === undefined ? {} : { signal }),
  });
  const bytes = Buffer.from(await response.body.arrayBuffer());
  const text = bytes.toString('utf8');
  const { statusCode: status, headers: fields } = response;
  const answer: RouterAnswer = { status, headers: fields, bytes, text, json: () => JSON.parse(text) };
  const found = undescribed === undefined ? checkers.get(origin)?.check({ method, path }, answer) : undefined;
  if (found === undefined || found.length === 0) return answer;
  throw new Error(
    `the document does not describe this response to ${method} ${path} (${status}):\n${found.join('\n')}\n${text}`,
  );
}

/** Sends requests with a token. */
export type Caller = (path: string, options?: CallOptions) => Promise<RouterAnswer>;

export async function callerFor(url: string, client = 'demo'): Promise<Caller> {
  return callerWith(url, await tokenOf(url, client));
}

export function callerWith(url: string, token: string): Caller {
  // Some clients write the scheme in lower case.
  return (path, options = {}) =>
    call(`${url}${path}`, { ...options, headers: { authorization: `bearer ${token}`, ...options.headers } });
}
