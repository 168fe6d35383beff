// An HTTP proxy between two of our programs that can hold one request at a chosen point: before the other side
// has seen it, or after the other side has done it and before we hear of it.

import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface GatedProxy {
  readonly url: string;
  /** `POST /api/metadata/workflow` …, in the order they came. */
  readonly requests: readonly string[];
  /** Holds the first request for which this is true; resolves once it is held. */
  hold(chosen: (call: string) => boolean, when: 'before' | 'after'): Promise<void>;
  /** Lets the held request go on. */
  release(): void;
  stop(): Promise<void>;
}

interface Gate {
  readonly chosen: (call: string) => boolean;
  readonly when: 'before' | 'after';
  readonly reached: PromiseWithResolvers<void>;
  readonly open: PromiseWithResolvers<void>;
}

/** Listens on a free port and passes every request to `target` (an http URL). */
export async function startGatedProxy(target: string): Promise<GatedProxy> {
  const requests: string[] = [];
  let armed: Gate | undefined;
  let held: Gate | undefined;
  const server = createServer(async (incoming, response) => {
    const call = `${incoming.method} ${incoming.url}`;
    requests.push(call);
    const gate = armed?.chosen(call) === true ? armed : undefined;
    if (gate !== undefined) {
      armed = undefined;
      held = gate;
    }
    const body = await readAll(incoming);
    if (gate?.when === 'before') await pass(gate);
    // Its client may be gone: what was held goes nowhere then, as on a cut connection.
    if (response.destroyed) return;
    const { method = 'GET' } = incoming;
    const contentType = incoming.headers['content-type'];
    const answer = await fetch(`${target}${incoming.url}`, {
      method,
      headers: contentType === undefined ? {} : { 'content-type': contentType },
      ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (gate?.when === 'after') await pass(gate);
    response
      .writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
      .end(bytes);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    hold(chosen, when) {
      armed = { chosen, when, reached: Promise.withResolvers(), open: Promise.withResolvers() };
      return armed.reached.promise;
    },
    release() {
      held?.open.resolve();
      held = undefined;
    },
    async stop() {
      held?.open.resolve();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function pass({ reached, open }: Gate): Promise<void> {
  reached.resolve();
  await open.promise;
}

async function readAll(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
