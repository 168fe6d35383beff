// Tests of waiting until a stack is ready.

import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { listenOnLoopback } from '../../../dev/loopback-server.ts';
import { type Missing, waitUntilReady } from '../../../dev/stack/readiness.ts';

/** Starts an operations server that responds to each poll with the result of `respond`, and returns its URL. */
async function serve(respond: (poll: number) => { status: number; reasons?: Missing }): Promise<string> {
  let polls = 0;
  const server = createServer((_request, response) => {
    const { status, reasons } = respond(++polls);
    response.writeHead(status).end(JSON.stringify({ reasons }));
  });
  const { url, close } = await listenOnLoopback(server);
  onTestFinished(close);
  return url;
}

it('reports what is missing until the router is ready', async () => {
  const reasons = { engine: ['it does not respond'] };
  const operations = await serve((poll) => (poll < 3 ? { status: 503, reasons } : { status: 200 }));
  const reported: Missing[] = [];
  await waitUntilReady({
    operations,
    signal: new AbortController().signal,
    onWait: (missing) => reported.push(missing),
  });
  expect(reported).toEqual([reasons, reasons]);
});

it('reports nothing when the stack is stopped during a poll', async () => {
  const stop = new AbortController();
  const operations = await serve(() => {
    stop.abort();
    return { status: 503, reasons: {} };
  });
  const reported: Missing[] = [];
  const onWait = (missing: Missing) => reported.push(missing);
  await expect(waitUntilReady({ operations, signal: stop.signal, onWait })).rejects.toThrow('aborted');
  expect(reported).toEqual([]);
});
