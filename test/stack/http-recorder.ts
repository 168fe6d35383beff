// An HTTP server that records every request and gives all of them the same response.

import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { listenOnLoopback } from '../../dev/loopback-server.ts';

export interface HttpRecorder {
  readonly url: string;
  /** The received requests, with decoded bodies. */
  readonly requests: readonly { path: string; headers: Readonly<Record<string, unknown>>; body: string }[];
  close(): Promise<void>;
}

/** Starts the server. @param status status of every response; `never` leaves all requests open */
export async function startHttpRecorder(status: number | 'never' = 200): Promise<HttpRecorder> {
  const requests: HttpRecorder['requests'][number][] = [];
  const server = createServer(async (request, response) => {
    const { method, url, headers } = request;
    const bytes = await buffer(request);
    const body = (headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString('utf8');
    requests.push({ path: `${method} ${url}`, headers, body });
    if (status !== 'never') response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  });
  return { ...(await listenOnLoopback(server)), requests };
}
