// Reads a request body with a limit, before anything is made of it.

import type { IncomingMessage } from 'node:http';
import { Attachment } from '#lib/gc/attachment.ts';
import { Problem } from '#lib/problem/problem.ts';

const empty = Buffer.alloc(0);

/** How to ask for the bodies of requests with `Expect: 100-continue`. */
const invitations = new Attachment<IncomingMessage, () => void>('invitation');
/** Requests whose body can no longer arrive, and those who wait for it. */
const failures = new Attachment<IncomingMessage, Problem>('failure');
const readers = new Attachment<IncomingMessage, (problem: Problem) => void>('reader');

/** Called when somebody wants the body: until then its client has not been asked to send it (RFC 9110 section 10.1.1). */
export function inviteBodyWith(request: IncomingMessage, invite: () => void): void {
  invitations.set(request, invite);
}

/** The rest of the body will not come: whoever reads it, now or later, gets `problem`. */
export function failBody(request: IncomingMessage, problem: Problem): void {
  failures.set(request, problem);
  readers.get(request)?.(problem);
}

/** Bodies that were asked for: whoever asks next gets the same. */
const bodies = new Attachment<IncomingMessage, Promise<Buffer>>('body');

/** A stop on the way, at so many bytes: the rest stays in its socket until the promise resolves. */
export interface Pause {
  readonly at: number;
  readonly until: () => Promise<unknown>;
}

/**
 * The whole body, however often it is asked for.
 * @param pause taken once, by a body that is longer than that; what it rejects with fails the body
 * @throws Problem `body-too-large` as soon as the limit is passed (by Content-Length: before reading),
 *   `malformed-request` when the client cuts it off or breaks its framing, `request-timeout` when it is too slow
 */
export function readBody(request: IncomingMessage, maxBytes: number, pause?: Pause): Promise<Buffer> {
  const body = bodies.get(request) ?? receive(request, maxBytes, pause);
  bodies.set(request, body);
  return body;
}

/** How long the body will be, by its header; Infinity when it comes in chunks, whose number shows at the end. */
export function announcedBytes({ headers }: IncomingMessage): number {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity;
}

async function receive(request: IncomingMessage, maxBytes: number, pause: Pause | undefined): Promise<Buffer> {
  const announced = announcedBytes(request);
  if (announced !== Infinity && announced > maxBytes) throw tooLarge(maxBytes);
  if (announced === 0) return empty;
  const failure = failures.get(request);
  if (failure !== undefined) throw failure;
  invitations.get(request)?.();
  const { promise: failed, reject } = Promise.withResolvers<never>();
  readers.set(request, reject);
  return Promise.race([collect(request, maxBytes, pause), failed]);
}

/** By its events: an iterator makes several promises of each chunk, and most bodies are one chunk. */
function collect(request: IncomingMessage, maxBytes: number, pause: Pause | undefined): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let length = 0;
  let pauses = pause !== undefined;
  const fail = (error: Error) => {
    request.off('data', take);
    request.pause();
    reject(error);
  };
  const take = (chunk: Buffer) => {
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
  request.on('data', take);
  request.once('end', () => {
    // An error nobody gets is not cheap: it takes its stack along.
    request.off('close', endEarly);
    resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length));
  });
  request.once('error', endEarly);
  request.once('close', endEarly);
  return promise;
}

function tooLarge(maxBytes: number): Problem {
  // The rest of the body is not read, so the connection cannot be used again.
  return new Problem('body-too-large', {
    detail: `At most ${maxBytes} bytes are accepted.`,
    headers: { connection: 'close' },
  });
}
