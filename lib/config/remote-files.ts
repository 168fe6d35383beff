// Remote property files, and the copies of them that a start without their server uses.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { getProperties } from 'properties-file';
import { type Layer, readPropertyFile } from './sources.ts';

/** How remote property files are fetched. */
export interface RemoteOptions {
  /** Deadline of one try, in milliseconds. */
  timeoutMs: number;
  /** Tries before the file counts as unreachable. Default 3, a short pause between them. */
  tries?: number;
  /** Directory for a copy of each file, used when the file cannot be fetched. Default: none. */
  lastKnownGoodDir?: string | undefined;
}

/** A layer that may have come over the network. */
export interface RemoteLayer extends Layer {
  /**
   * Replaces the last known good copy by the file as it was fetched. Absent when there is nothing to keep.
   * @throws Error of the file system
   */
  readonly keep?: () => void;
}

/**
 * A remote property file named by an http, https or file URL. Nothing is written: see {@link RemoteLayer.keep}.
 * @throws Error that names the URL (without credentials) and the reason, when no try and no copy succeeds
 */
export async function readRemote(address: string, options: RemoteOptions): Promise<RemoteLayer> {
  const url = new URL(address);
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

/** Renames a new file over the old one, so that a reader or a crash never meets half of it. Only the owner may read it. */
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
      if (!response.ok) throw new Error(`it answered ${response.status}`);
      return await response.text();
    } catch (error) {
      if (attempt >= tries) throw new Error(reasonOf(error, timeoutMs), { cause: error });
      await delay(200 * attempt);
    }
  }
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if ((error as Error).name === 'TimeoutError') return `no answer within ${timeoutMs} ms`;
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
