// A back end in every bad mood: it stands for the data warehouse and for the adaptor of college 666.

import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * - `good`: 200 · `slow`: after its caller's deadline · `frozen`: never · `refusing`: no connection
 * - `reset-in-body`: half of a response, then a reset · `burst-of-5xx`: three of four responses are 500, 502 or 503
 * - `html`: 200 with a page · `wrong-length`: less than announced, then an orderly end
 * - `100-mib`: too much, announced · `endless`: too much, never ending
 */
export const backEndMoods = [
  'good',
  'slow',
  'frozen',
  'refusing',
  'reset-in-body',
  'burst-of-5xx',
  'html',
  'wrong-length',
  '100-mib',
  'endless',
] as const;
export type BackEndMood = (typeof backEndMoods)[number];

export interface BadBackEnd {
  readonly url: string;
  setMood(mood: BackEndMood): Promise<void>;
  /** Requests that hang here now. */
  readonly open: number;
  stop(): Promise<void>;
}

type Answer = (response: ServerResponse, count: number) => void;

const slowMs = 3_500;
const json = { 'content-type': 'application/json' };
const mebibyte = Buffer.alloc(1_048_576, 0x20);

const answers: Readonly<Record<Exclude<BackEndMood, 'refusing'>, Answer>> = {
  good: (response) => void response.writeHead(200, json).end('{"good":true}'),
  slow: (response) => void setTimeout(() => response.writeHead(200, json).end('{"slow":true}'), slowMs),
  frozen: () => undefined,
  'reset-in-body'(response) {
    response.writeHead(200, { ...json, 'content-length': 100 });
    response.write('{"half":', () => response.socket?.resetAndDestroy());
  },
  'burst-of-5xx'(response, count) {
    const status = [500, 502, 503, 200][count % 4] as number;
    response.writeHead(status, json).end(`{"status":${status}}`);
  },
  html: (response) =>
    void response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><h1>Maintenance</h1>'),
  'wrong-length'(response) {
    response.writeHead(200, { ...json, 'content-length': 100 });
    response.write('{"short":true}', () => response.socket?.end());
  },
  '100-mib': (response) => pour(response, 100),
  endless: (response) => pour(response, Number.POSITIVE_INFINITY),
};

function pour(response: ServerResponse, mebibytes: number): void {
  const isFinite = Number.isFinite(mebibytes);
  response.writeHead(200, { ...json, ...(isFinite ? { 'content-length': mebibytes * mebibyte.length } : {}) });
  let left = mebibytes;
  const more = () => {
    if (response.destroyed) return;
    if (left <= 0) return void response.end();
    left -= 1;
    response.write(mebibyte, () => setImmediate(more));
  };
  more();
}

/** @param historyFile where it appends what reached it */
export async function startBadBackEnd(historyFile: string): Promise<BadBackEnd> {
  let mood: BackEndMood = 'good';
  let count = 0;
  const open = new Set<ServerResponse>();
  const append = (request: IncomingMessage, event: object) => {
    const { url: target, headers } = request;
    const at = performance.timeOrigin + performance.now();
    const common = { at, op: headers['x-request-id'], key: headers['idempotency-key'], target, actor: 'back-end' };
    appendFileSync(historyFile, `${JSON.stringify({ ...common, ...event })}\n`);
  };
  const server = createServer((request, response) => {
    append(request, { event: 'received', method: request.method });
    request.resume();
    open.add(response);
    response.on('close', () => open.delete(response));
    // Whatever it answers, a write that reached it is done, but for one that it refuses with an error.
    count += 1;
    const refuses = mood === 'burst-of-5xx' && count % 4 !== 3;
    if (request.method !== 'GET' && !refuses) append(request, { event: 'applied' });
    if (mood !== 'refusing') answers[mood](response, count);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    get open() {
      return open.size;
    },
    async setMood(next) {
      if (next === 'refusing') await close();
      else if (!server.listening) {
        server.listen(port, '127.0.0.1');
        await once(server, 'listening');
      }
      mood = next;
      if (next === 'good') server.closeAllConnections();
    },
    stop: close,
  };
}
