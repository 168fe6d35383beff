// Handles `Idempotency-Key` on writes: applies the write once, stores the response and replays it for repeated
// requests.

import { createHash } from 'node:crypto';
import type { Request } from 'express';
import { record } from './history.ts';
import { type JsonResponse, BackEndError, toErrorResponse } from './json-response.ts';
import { parseRecord, type Store } from './store.ts';

/** A write as received. */
export interface Write {
  readonly mis: string;
  readonly request: Request;
  readonly body: Buffer;
}

/** Returns the Idempotency-Key of a request, if any. */
export function idempotencyKeyOf(request: Request): string | undefined {
  return request.get('idempotency-key');
}

/**
 * Applies a write, or replays the stored response for its key. Error responses are stored too.
 * @param apply changes the store; runs in the transaction that stores the response
 * @throws BackEndError 422 when the key was used for another request
 */
export function applyOnce(store: Store, { mis, request, body }: Write, apply: () => JsonResponse): JsonResponse {
  const key = idempotencyKeyOf(request);
  const applyNow = () => {
    const response = responseOf(apply);
    if (response.status < 300) record(request, { actor: 'back-end', event: 'applied' });
    return response;
  };
  if (key === undefined) return store.transaction(applyNow);
  const fingerprint = fingerprintOf(request, body);
  return store.transaction(() => {
    const earlier = store.get('SELECT * FROM idempotency_keys WHERE mis = ? AND idempotency_key = ?', mis, key);
    if (earlier === undefined) {
      const response = applyNow();
      const row = [mis, key, fingerprint, JSON.stringify(response)] as const;
      store.run('INSERT INTO idempotency_keys VALUES (?, ?, ?, ?, 1)', ...row);
      return response;
    }
    if (earlier['fingerprint'] !== fingerprint) {
      throw new BackEndError('422 idempotency-key-reused', 'this Idempotency-Key belongs to another request');
    }
    record(request, { actor: 'back-end', event: 'replayed' });
    store.run('UPDATE idempotency_keys SET received = received + 1 WHERE mis = ? AND idempotency_key = ?', mis, key);
    const { headers, ...response } = parseRecord<JsonResponse>(earlier, 'answer');
    return { ...response, headers: { ...headers, 'idempotency-replayed': 'true' } };
  });
}

/** Describes a key: the number of requests with the key, and of applied writes according to the journal of writes. */
export function describeKey(store: Store, mis: string, key: string): JsonResponse {
  const row = store.get('SELECT * FROM idempotency_keys WHERE mis = ? AND idempotency_key = ?', mis, key);
  if (row === undefined) throw new BackEndError('404 unknown-idempotency-key', 'no write with this key was received');
  const journal = 'SELECT count(*) AS applied FROM person_writes WHERE mis = ? AND idempotency_key = ?';
  const applied = store.get(journal, mis, key)?.['applied'];
  const { status } = parseRecord<JsonResponse>(row, 'answer');
  return { status: 200, body: { idempotencyKey: key, received: row['received'], applied, status } };
}

function responseOf(apply: () => JsonResponse): JsonResponse {
  try {
    return apply();
  } catch (error) {
    if (error instanceof BackEndError) return toErrorResponse(error);
    throw error;
  }
}

function fingerprintOf(request: Request, body: Buffer): string {
  return createHash('sha256').update(`${request.method} ${request.originalUrl}\n`).update(body).digest('base64');
}
