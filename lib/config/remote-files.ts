// Fetches remote property files, and keeps last known good copies. A startup uses the copies when the server of the
// files is unavailable.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { getProperties } from 'properties-file';
import { type Layer, readPropertyFile } from './sources.ts';

/** Options for fetching a remote property file. */
export interface RemoteOptions {
  /** Deadline of one attempt, in milliseconds. */
  timeoutMs: number;
  /** Position of the address in `config.url`, from 1; messages contain it instead of a malformed address. */
  position: number;
  /** Number of attempts, with a short pause between them. Default: 3. */
  tries?: number;
  /** Directory of the last known good copies. Default: none. */
  lastKnownGoodDir?: string | undefined;
  /** Whether a copy is used when a file cannot be fetched. Default: true. */
  useCopies?: boolean | undefined;
  /** Aborts the attempts. */
  signal?: AbortSignal | undefined;
}

/** A layer from a remote file. */
export interface RemoteLayer extends Layer {
  /**
   * Replaces the last known good copy with the fetched file. Absent when there is nothing to save.
   * @throws Error from the file system
   */
  readonly keep?: () => void;
  /** Why the last known good copy is used. Absent when the file was fetched. */
  readonly warning?: string;
}

/**
 * Thrown when a remote file cannot be fetched at the moment: its server does not respond, or responds with an error.
 */
export class RemoteFileOutage extends Error {
  override readonly name = 'RemoteFileOutage';
}

/**
 * Reads a property file from an http, https or file URL. It writes nothing; see {@link RemoteLayer.keep}.
 * @throws RemoteFileOutage when all attempts failed and no copy is used; Error when the address or the file is invalid.
 *   The message contains the URL without credentials, and the reason.
 */
export async function readRemote(address: string, options: RemoteOptions): Promise<RemoteLayer> {
  const url = URL.parse(address);
  if (url === null || !['http:', 'https:', 'file:'].includes(url.protocol)) {
    const hint = 'is not an http, https or file URL; in a password, write a comma as %2C';
    throw new Error(`config.url: address ${options.position} ${hint}`);
  }
  if (url.protocol === 'file:') return readPropertyFile(url, address);
  const { lastKnownGoodDir: dir, useCopies = true } = options;
  const copy = dir && join(dir, `${digest(address)}.properties`);
  const origin = withoutCredentials(url);
  try {
    const { status, body } = await fetchWithRetries(url, options);
    // A redirect could lead from https to http, or away from the servers that the operator trusts.
    if (status >= 300) {
      const advice = 'redirects are not followed, so config.url must contain the final address';
      throw new Error(`the server responded with ${status}: ${advice}`);
    }
    const layer = { origin, values: getProperties(body) };
    return dir && copy ? { ...layer, keep: () => replaceFile({ dir, path: copy, body }) } : layer;
  } catch (error) {
    const problem = `${origin} cannot be read: ${(error as Error).message}`;
    if (!(error instanceof RemoteFileOutage)) throw new Error(problem, { cause: error });
    if (!useCopies || !copy || !existsSync(copy)) throw new RemoteFileOutage(problem, { cause: error });
    const warning = `${problem}; its last known good copy is used`;
    return { ...readPropertyFile(copy, copy), origin: `${origin} (last known good copy)`, warning };
  }
}

/** Replaces a file atomically by renaming a new file to its path. Only the owner may read the file. */
function replaceFile({ dir, path, body }: { dir: string; path: string; body: string }): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const written = `${path}.${process.pid}`;
  writeFileSync(written, body, { mode: 0o600, flush: true });
  renameSync(written, path);
}

/** A response with a status below 400; it may be a redirect. */
interface FetchedFile {
  readonly status: number;
  readonly body: string;
}

/** Fetches a file. @throws RemoteFileOutage when all attempts failed */
async function fetchWithRetries(url: URL, options: RemoteOptions): Promise<FetchedFile> {
  const { tries = 3, signal } = options;
  const headers: Record<string, string> = {};
  const bare = new URL(url);
  if (url.username !== '') {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    headers['authorization'] = `Basic ${Buffer.from(credentials).toString('base64')}`;
    bare.username = '';
    bare.password = '';
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await fetchOnce(bare, headers, options);
    } catch (error) {
      if (attempt >= tries) throw new RemoteFileOutage(reasonOf(error), { cause: error });
      await delay(200 * attempt, undefined, { signal });
    }
  }
}

async function fetchOnce(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { timeoutMs, signal }: RemoteOptions,
): Promise<FetchedFile> {
  const attempt = new AbortController();
  const deadline = setTimeout(() => attempt.abort(new Error(`no response within ${timeoutMs} ms`)), timeoutMs);
  const abort = () => attempt.abort();
  signal?.addEventListener('abort', abort);
  try {
    const response = await fetch(url, { headers, signal: attempt.signal, redirect: 'manual' });
    const { status } = response;
    if (status >= 400) throw new Error(`the server responded with ${status}`);
    return { status, body: await response.text() };
  } finally {
    clearTimeout(deadline);
    signal?.removeEventListener('abort', abort);
    // Closes the connection if the body was not read. Without this call, the connection would stay open until the next
    // garbage collection.
    abort();
  }
}

function reasonOf(error: unknown): string {
  const cause = (error as Error).cause as { code?: string } | undefined;
  return cause?.code ?? (error as Error).message;
}

function withoutCredentials(url: URL): string {
  const shown = new URL(url);
  shown.username = '';
  shown.password = '';
  return shown.href;
}

function digest(address: string): string {
  return createHash('sha256').update(address).digest('hex').slice(0, 16);
}
