// An HTTP proxy in front of the engine that can delay the engine's responses, or replace them with errors or nonsense.

import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { listenOnLoopback } from '../../dev/loopback-server.ts';

/**
 * The ways in which the proxy handles calls:
 * - `pass`: forwards calls and responses unchanged
 * - `slow`: delays every call by 2 s
 * - `500`: responds with 500; the engine does not get the call
 * - `500-after`: replaces the engine's response with 500
 * - `html`, `empty`, `half-json`, `wrong-json`: replaces the engine's response with 200 and a body of this kind
 * - `garbage`: responds with bytes that are not HTTP; the engine does not get the call
 * - `reset`: resets the connection after the engine has responded
 */
export const engineMoods = [
  'pass',
  'slow',
  '500',
  '500-after',
  'html',
  'empty',
  'half-json',
  'wrong-json',
  'garbage',
  'reset',
] as const;
export type EngineMood = (typeof engineMoods)[number];

export interface EngineProxy {
  readonly url: string;
  mood: EngineMood;
  /** Returns true for calls to which the mood applies; default: all calls. */
  concerns: (call: { method?: string | undefined; url?: string | undefined }) => boolean;
  stop(): Promise<void>;
}

/** Delay of every call when the engine is slow, in milliseconds. */
const slowMs = 2_000;

const replacements: Partial<Record<EngineMood, { type: string; body: string }>> = {
  html: { type: 'text/html', body: '<!doctype html><title>Bad gateway</title>' },
  empty: { type: 'application/json', body: '' },
  'half-json': { type: 'application/json', body: '{"workflowId":"' },
  'wrong-json': { type: 'application/json', body: '{"well":"formed","of":["another","kind"]}' },
};

/** Starts a proxy that forwards everything to `target` (an http URL). */
export async function startEngineProxy(target: string): Promise<EngineProxy> {
  const proxy: Omit<EngineProxy, 'url' | 'stop'> = { mood: 'pass', concerns: () => true };
  const server = createServer((incoming, outgoing) => {
    handle(proxy.concerns(incoming) ? proxy.mood : 'pass', { target, incoming, outgoing }).catch(() =>
      incoming.socket.destroy(),
    );
  });
  server.keepAliveTimeout = 6_000;
  const { url, close: stop } = await listenOnLoopback(server);
  return Object.assign(proxy, { url, stop });
}

interface Exchange {
  readonly target: string;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

async function handle(mood: EngineMood, { target, incoming, outgoing }: Exchange): Promise<void> {
  const body = await buffer(incoming);
  if (mood === '500') return fail(outgoing);
  if (mood === 'garbage') return void incoming.socket.end('\x16\x03\x01 not HTTP at all \r\n\r\n');
  if (mood === 'slow') await delay(slowMs);
  const answer = await forward(target, incoming, body);
  if (mood === '500-after') return fail(outgoing);
  if (mood === 'reset') return void incoming.socket.resetAndDestroy();
  const replacement = replacements[mood];
  if (replacement !== undefined)
    return void outgoing.writeHead(200, { 'content-type': replacement.type }).end(replacement.body);
  outgoing.writeHead(answer.status, answer.headers).end(answer.body);
}

function fail(outgoing: ServerResponse): void {
  outgoing.writeHead(500, { 'content-type': 'application/json' });
  outgoing.end('{"status":500,"message":"database is locked","retryable":false}');
}

async function forward(target: string, { method, url, headers }: IncomingMessage, body: Buffer) {
  const { host: _host, connection: _connection, 'transfer-encoding': _coding, ...others } = headers;
  const outgoing = request(`${target}${url}`, {
    method,
    headers: { ...others, ...(body.length === 0 ? {} : { 'content-length': body.length }) },
  });
  outgoing.end(body);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const { 'transfer-encoding': _chunked, connection: _closing, ...own } = response.headers;
  return { status: response.statusCode ?? 502, headers: own, body: await buffer(response) };
}
