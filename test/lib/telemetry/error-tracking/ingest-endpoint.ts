// A stand-in of Sentry's ingest endpoint: a real HTTP server that keeps the envelopes it receives.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

export interface IngestEndpoint {
  readonly dsn: string;
  /** Everything that was received, as text. */
  readonly envelopes: readonly string[];
  /** The error events among it. */
  events(): Record<string, unknown>[];
  close(): Promise<void>;
}

/** @param answer status of every response; `never` leaves all requests open */
export async function startIngestEndpoint(answer: number | 'never' = 200): Promise<IngestEndpoint> {
  const envelopes: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    envelopes.push((request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString('utf8'));
    if (answer !== 'never') response.writeHead(answer, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    dsn: `http://0123456789abcdef0123456789abcdef@127.0.0.1:${port}/42`,
    envelopes,
    events: () => envelopes.flatMap(eventsOf),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** An envelope is lines of JSON: its header, then header and payload of each item. */
function eventsOf(envelope: string): Record<string, unknown>[] {
  const lines = envelope
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  return lines.filter((_line, index) => lines[index - 1]?.['type'] === 'event');
}
