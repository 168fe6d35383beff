// Sends a load on raw sockets: requests at a fixed rate regardless of responses (open loop), or with a fixed number of
// requests in flight (closed loop).

import { type HttpResponse, HttpConnections } from './http-connections.ts';

export interface LoadOptions {
  readonly host: string;
  readonly port: number;
  /** Requests as bytes, sent round-robin. */
  readonly requests: readonly { readonly name: string; readonly bytes: Buffer }[];
  /** Requests per second, or the number of clients of a closed loop. */
  readonly arrival: { readonly perSecond: number } | { readonly inFlight: number };
  readonly seconds: number;
  /** How long the load waits for the last responses, in milliseconds. */
  readonly patienceMs: number;
}

/** A response, or a broken connection. */
export interface Exchange {
  /** Name of the request. */
  readonly name: string;
  /** Status of the response; 0 when the connection broke. */
  readonly status: number;
  readonly retryAfter: boolean;
  /** Time from the moment when the request was due until the end of its response: a delay in the sender counts too. */
  readonly ms: number;
  /** When the response was complete, in milliseconds since the start of the load. */
  readonly atMs: number;
}

export interface LoadSample {
  readonly exchanges: readonly Exchange[];
  /** Number of requests that still had no response at the end. */
  readonly unanswered: number;
  readonly seconds: number;
  /** Longest delay between the time when a request was due and the time when it was sent, in milliseconds. */
  readonly latestMs: number;
}

/** Interval at which an open loop sends the due requests, in milliseconds. */
const tickMs = 2;

/** Runs the load. Failed requests are counted; they do not reject the promise. */
export async function runLoad(options: LoadOptions): Promise<LoadSample> {
  const { requests, seconds, arrival, patienceMs } = options;
  const connections = new HttpConnections(options);
  const exchanges: Exchange[] = [];
  const startedAt = performance.now();
  let sent = 0;
  let open = 0;
  let latestMs = 0;
  let allDone: () => void = () => undefined;
  const send = (dueAt: number, after: () => void) => {
    const request = requests[sent % requests.length] as LoadOptions['requests'][number];
    sent += 1;
    open += 1;
    latestMs = Math.max(latestMs, performance.now() - dueAt);
    connections.send(request.bytes, ({ status, retryAfter }: HttpResponse) => {
      const now = performance.now();
      exchanges.push({ name: request.name, status, retryAfter, ms: now - dueAt, atMs: now - startedAt });
      open -= 1;
      after();
      if (open === 0) allDone();
    });
  };
  const until = startedAt + seconds * 1_000;
  if ('perSecond' in arrival) await sendAtRate(arrival.perSecond, { startedAt, until, send });
  else await sendInTurn(arrival.inFlight, { until, send });
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, patienceMs);
    allDone = () => {
      clearTimeout(timer);
      resolve();
    };
    if (open === 0) allDone();
  });
  connections.close();
  return { exchanges, unanswered: open, seconds, latestMs };
}

type Send = (dueAt: number, after: () => void) => void;

function sendAtRate(perSecond: number, { startedAt, until, send }: { startedAt: number; until: number; send: Send }) {
  const dueAt = (index: number) => startedAt + (index * 1_000) / perSecond;
  let next = 0;
  return new Promise<void>((resolve) => {
    const tick = () => {
      const now = performance.now();
      for (; dueAt(next) <= now && dueAt(next) < until; next++) send(dueAt(next), () => undefined);
      if (dueAt(next) >= until) resolve();
      else setTimeout(tick, tickMs);
    };
    tick();
  });
}

function sendInTurn(inFlight: number, { until, send }: { until: number; send: Send }) {
  let clients = inFlight;
  return new Promise<void>((resolve) => {
    const next = () => {
      const now = performance.now();
      if (now < until) send(now, next);
      else if (--clients === 0) resolve();
    };
    for (let client = 0; client < inFlight; client++) next();
  });
}
