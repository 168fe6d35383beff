// Reads a request body into memory, with a size limit.

import type { IncomingMessage } from 'node:http';
import { Attachment } from '#lib/gc/attachment.ts';
import { Problem } from '#lib/problem/problem.ts';

const empty = Buffer.alloc(0);

/** Functions that send 100 Continue, for requests with `Expect: 100-continue`. */
const continueSenders = new Attachment<IncomingMessage, () => void>('continue sender');
/** Problems of requests whose body can no longer arrive. */
const failures = new Attachment<IncomingMessage, Problem>('failure');
/** Functions that reject the pending reads of a body; they do nothing after the end of the body. */
const readers = new Attachment<IncomingMessage, (problem: Problem) => void>('reader');
const ignore = () => undefined;

/** Sets the function that sends 100 Continue (RFC 9110 section 10.1.1); it is called when the body is read. */
export function setContinueSender(request: IncomingMessage, sendContinue: () => void): void {
  continueSenders.set(request, sendContinue);
}

/** Marks a body as failed: pending and later reads reject with `problem`. */
export function failBody(request: IncomingMessage, problem: Problem): void {
  failures.set(request, problem);
  readers.get(request)?.(problem);
}

/** Bodies that have been read, or are being read: every read of a request returns the same promise. */
const bodies = new Attachment<IncomingMessage, Promise<Buffer> | undefined>('body');

/** A pause while a large body is read: the rest stays in the socket until the promise resolves. */
export interface Pause {
  /** Size after which reading pauses, in bytes. */
  readonly at: number;
  /** Called when reading pauses; reading resumes when the promise resolves. */
  readonly until: () => Promise<unknown>;
}

/**
 * Returns the whole body; every call returns the same one.
 * @param maxBytes size limit, in bytes
 * @param pause pauses once, for a body that is larger than `pause.at`; if `pause.until` rejects, the read rejects too
 * @throws Problem `body-too-large` as soon as the limit is exceeded (before reading, when Content-Length exceeds it),
 *   `malformed-request` when the body is cut off or its framing is broken, `request-timeout` when it arrives too slowly
 */
export function readBody(request: IncomingMessage, maxBytes: number, pause?: Pause): Promise<Buffer> {
  const body = bodies.get(request) ?? receive(request, maxBytes, pause);
  bodies.set(request, body);
  return body;
}

/** Allows a body to be freed before its request ends. Call it after the last use: the body cannot be read again. */
export function releaseBody(request: IncomingMessage): void {
  bodies.set(request, undefined);
}

/** Returns the body size that the header announces, in bytes; Infinity for chunked transfer coding. */
export function announcedBytes({ headers }: IncomingMessage): number {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity;
}

async function receive(request: IncomingMessage, maxBytes: number, pause: Pause | undefined): Promise<Buffer> {
  const announced = announcedBytes(request);
  if (announced !== Infinity && announced > maxBytes) throw tooLarge(maxBytes);
  if (announced === 0) return empty;
  const failure = failures.get(request);
  if (failure !== undefined) throw failure;
  continueSenders.get(request)?.();
  return collect(request, maxBytes, pause);
}

/** Reads with events: most bodies are one chunk, and an async iterator creates several promises per chunk. */
function collect(request: IncomingMessage, maxBytes: number, pause: Pause | undefined): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  readers.set(request, reject);
  const chunks: Buffer[] = [];
  let length = 0;
  let pauses = pause !== undefined;
  const fail = (error: Error) => {
    request.off('data', onData);
    request.pause();
    reject(error);
  };
  const onData = (chunk: Buffer) => {
    length += chunk.length;
    if (length > maxBytes) return fail(tooLarge(maxBytes));
    chunks.push(chunk);
    if (!pauses || length <= (pause as Pause).at) return;
    pauses = false;
    request.pause();
    (pause as Pause).until().then(() => request.resume(), fail);
  };
  const endEarly = (cause?: Error) =>
    reject(new Problem('malformed-request', { detail: 'The request body ended early.', cause }));
  if (request.destroyed) endEarly();
  request.on('data', onData);
  request.once('end', () => {
    // If they stayed, these listeners would keep the body in memory, or create a Problem although the body is complete.
    request.off('data', onData).off('error', endEarly).off('close', endEarly);
    readers.set(request, ignore);
    resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length));
  });
  request.once('error', endEarly);
  request.once('close', endEarly);
  return promise;
}

function tooLarge(maxBytes: number): Problem {
  // The rest of the body is not read, so the connection cannot be reused.
  return new Problem('body-too-large', {
    detail: `At most ${maxBytes} bytes are accepted.`,
    headers: { connection: 'close' },
  });
}
