// A stand-in for Sentry's ingest endpoint: a real HTTP server that stores the envelopes that it receives.

import { type HttpRecorder, startHttpRecorder } from '../../../stack/http-recorder.ts';

export interface IngestEndpoint extends Pick<HttpRecorder, 'close'> {
  readonly dsn: string;
  /** Returns the received envelopes as text. */
  envelopes(): string[];
  /** Returns the error events in the received envelopes. */
  events(): Record<string, unknown>[];
}

/** Starts the endpoint. @param status status of every response; `never` leaves all requests open */
export async function startIngestEndpoint(status: number | 'never' = 200): Promise<IngestEndpoint> {
  const { url, requests, close } = await startHttpRecorder(status);
  const envelopes = () => requests.map(({ body }) => body);
  const dsn = `${url.replace('//', '//0123456789abcdef0123456789abcdef@')}/42`;
  return { dsn, envelopes, events: () => envelopes().flatMap(eventsOf), close };
}

/** Returns the events of an envelope. Its lines are JSON: its header, then the header and payload of each item. */
function eventsOf(envelope: string): Record<string, unknown>[] {
  const lines = envelope
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  return lines.filter((_line, index) => lines[index - 1]?.['type'] === 'event');
}
