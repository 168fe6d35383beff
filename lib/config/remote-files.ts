// Fetches remote property files, with last known good copies for starts while their server is unavailable.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { getProperties } from 'properties-file';
import { type Layer, readPropertyFile } from './sources.ts';

/** How remote property files are fetched. */
export interface RemoteOptions {
  /** Deadline of one attempt, in milliseconds. */
  timeoutMs: number;
  /** Position of the address in `config.url`, from 1; messages contain it instead of a malformed address. */
  position: number;
  /** Number of attempts, with a short pause between them. Default: 3. */
  tries?: number;
  /** Directory of the last known good copies, which are used when a file cannot be fetched. Default: none. */
  lastKnownGoodDir?: string | undefined;
}

/** A layer from a remote file. */
export interface RemoteLayer extends Layer {
  /**
   * Replaces the last known good copy with the fetched file. Absent when there is nothing to save.
   * @throws Error of the file system
   */
  readonly keep?: () => void;
}

/**
 * Reads a property file by its http, https or file URL. Nothing is written; see {@link RemoteLayer.keep}.
 * @throws Error with the URL (without credentials) and the reason, when all attempts failed and there is no copy
 */
export async function readRemote(address: string, options: RemoteOptions): Promise<RemoteLayer> {
  const url = URL.parse(address);
  if (url === null || !['http:', 'https:', 'file:'].includes(url.protocol)) {
    const hint = 'is not an http, https or file URL; in a password, write a comma as %2C';
    throw new Error(`config.url: address ${options.position} ${hint}`);
  }
  if (url.protocol === 'file:') return { ...readPropertyFile(fileURLToPath(url)), origin: address };
  const { lastKnownGoodDir: dir } = options;
  const copy = dir && join(dir, `${digest(address)}.properties`);
  const origin = withoutCredentials(url);
  try {
    const body = await fetchWithRetries(url, options);
    const layer = { origin, values: getProperties(body) };
    return dir && copy ? { ...layer, keep: () => replaceFile({ dir, path: copy, body }) } : layer;
  } catch (error) {
    if (copy && existsSync(copy)) return { ...readPropertyFile(copy), origin: `${origin} (last known good copy)` };
    throw new Error(`${origin} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** Replaces a file atomically by renaming a new one over it. Only the owner may read the file. */
function replaceFile({ dir, path, body }: { dir: string; path: string; body: string }): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const written = `${path}.${process.pid}`;
  writeFileSync(written, body, { mode: 0o600, flush: true });
  renameSync(written, path);
}

async function fetchWithRetries(url: URL, { timeoutMs, tries = 3 }: RemoteOptions): Promise<string> {
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
      const response = await fetch(bare, { headers, signal: AbortSignal.timeout(timeoutMs) });
      if (!response.ok) throw new Error(`the server responded with ${response.status}`);
      return await response.text();
    } catch (error) {
      if (attempt >= tries) throw new Error(reasonOf(error, timeoutMs), { cause: error });
      await delay(200 * attempt);
    }
  }
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if ((error as Error).name === 'TimeoutError') return `no response within ${timeoutMs} ms`;
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
