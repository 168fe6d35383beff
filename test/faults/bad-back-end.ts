// A misbehaving back end, used as the data warehouse and as the adaptor of college 666.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type RequestHandler } from 'express';
import { createFaults } from '../../dev/back-ends/faults.ts';
import { record, recordHistory } from '../../dev/back-ends/history.ts';

/**
 * The endpoint of the stand-ins (dev/back-ends/faults.ts) that handles every request, by mood; `slow` takes longer than
 * the caller waits.
 */
const endpoints = {
  good: () => 'status/200',
  slow: () => 'slow/3500',
  frozen: () => 'never',
  'reset-in-body': () => 'cut',
  // Every fourth response is a success.
  'burst-of-5xx': (count: number) => `status/${[500, 502, 503, 200][count % 4]}`,
  html: () => 'html',
  'wrong-length': () => 'bad-length',
  '64-mib': () => 'bytes/67108864',
} as const;

/**
 * All moods: those in `endpoints`, `refusing` (accepts no connection) and `endless` (sends a response that never ends).
 */
export const backEndMoods = [...(Object.keys(endpoints) as (keyof typeof endpoints)[]), 'refusing', 'endless'] as const;
export type BackEndMood = (typeof backEndMoods)[number];

/** Starts the back end. @param historyFile file to which the back end appends the requests that it receives */
export async function startBadBackEnd(historyFile: string) {
  let mood: BackEndMood = 'good';
  let count = 0;
  let open = 0;
  const misbehave: RequestHandler = (request, response, next) => {
    open += 1;
    response.on('close', () => (open -= 1));
    count += 1;
    // A write that reached the back end counts as applied, whatever the response, unless the back end rejected it with
    // an error.
    const refuses = mood === 'burst-of-5xx' && count % 4 !== 3;
    if (request.method !== 'GET' && !refuses) record(request, { actor: 'back-end', event: 'applied' });
    if (mood === 'endless') return pour(response.writeHead(200, { 'content-type': 'application/json' }));
    if (mood === 'refusing') return;
    request.url = `/${endpoints[mood](count)}`;
    next();
  };
  const server = createServer(express().use(recordHistory(historyFile), misbehave, createFaults()));
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
    /** Number of requests that are waiting for a response. */
    get open() {
      return open;
    },
    async setMood(next: BackEndMood) {
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

export type BadBackEnd = Awaited<ReturnType<typeof startBadBackEnd>>;

const block = Buffer.alloc(1_048_576, 0x20);

function pour(response: express.Response): void {
  if (!response.destroyed) response.write(block, () => setImmediate(pour, response));
}
