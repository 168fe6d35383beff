// An HTTP server that records every request and responds with a given status and an empty object.

import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { listenOnLoopback } from '../../dev/loopback-server.ts';

/** Status of the responses; `never` leaves requests open. */
type Status = number | 'never';

export interface HttpRecorder {
  readonly url: string;
  respondWith(status: Status): void;
  /** The received requests, with decoded bodies. */
  readonly requests: readonly { path: string; headers: Readonly<Record<string, unknown>>; body: string }[];
  close(): Promise<void>;
}

export async function startHttpRecorder(status: Status = 200): Promise<HttpRecorder> {
  const requests: HttpRecorder['requests'][number][] = [];
  let current = status;
  const server = createServer(async (request, response) => {
    const { method, url, headers } = request;
    const bytes = await buffer(request);
    const body = (headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString('utf8');
    requests.push({ path: `${method} ${url}`, headers, body });
    if (current !== 'never') response.writeHead(current, { 'content-type': 'application/json' }).end('{}');
  });
  return { ...(await listenOnLoopback(server)), requests, respondWith: (next) => void (current = next) };
}
