// Where configuration comes from: property files, remote property files, a local profile, the environment.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { parse as parseDotenv } from 'dotenv';
import { getProperties } from 'properties-file';

/** One layer: its values by key as text, and the place to name when one of them is wrong. */
export interface Layer {
  readonly origin: string;
  readonly values: Readonly<Record<string, string>>;
}

const configDir = fileURLToPath(new URL('.', import.meta.url));
const rootDir = join(configDir, '..');

/** A local property file in `.properties` syntax. */
export function readPropertyFile(path: string): Layer {
  return { origin: path, values: getProperties(readFileSync(path, 'utf8')) };
}

/** `config/default.properties`: the first layer. */
export function readDefaults(): Layer {
  return { ...readPropertyFile(join(configDir, 'default.properties')), origin: 'config/default.properties' };
}

/**
 * The local profile: `config/<profile>.properties`, else `.env.<profile>`; null when neither exists.
 * A `.env` file may use either spelling of a key: `router.port=…` or `ROUTER_PORT=…`.
 */
export function readProfile(profile: string, keyOfVariable: (name: string) => string | undefined): Layer | null {
  const propertyFile = join(configDir, `${profile}.properties`);
  if (existsSync(propertyFile)) return { ...readPropertyFile(propertyFile), origin: `config/${profile}.properties` };
  const dotenvFile = join(rootDir, `.env.${profile}`);
  if (!existsSync(dotenvFile)) return null;
  const values = Object.entries(parseDotenv(readFileSync(dotenvFile))).map(([name, value]) => [
    keyOfVariable(name) ?? name,
    value,
  ]);
  return { origin: `.env.${profile}`, values: Object.fromEntries(values) };
}

/** Paths of the local files that a configuration is read from, those that do not exist now included. */
export function localFiles(config: { 'config.url': readonly string[]; profile: string | undefined }): string[] {
  const { 'config.url': addresses, profile } = config;
  const named = addresses.filter((address) => URL.canParse(address) && new URL(address).protocol === 'file:');
  return [
    join(configDir, 'default.properties'),
    ...named.map((address) => fileURLToPath(address)),
    ...(profile === undefined ? [] : [join(configDir, `${profile}.properties`), join(rootDir, `.env.${profile}`)]),
  ];
}

/** How remote property files are fetched. */
export interface RemoteOptions {
  /** Deadline of one try, in milliseconds. */
  timeoutMs: number;
  /** Tries before the file counts as unreachable. Default 3, a short pause between them. */
  tries?: number;
  /** Directory for a copy of each file, used when the file cannot be fetched. Default: none. */
  lastKnownGoodDir?: string | undefined;
}

/**
 * A remote property file named by an http, https or file URL.
 * @throws Error that names the URL (without credentials) and the reason, when no try and no copy succeeds
 */
export async function readRemote(address: string, options: RemoteOptions): Promise<Layer> {
  const url = new URL(address);
  if (url.protocol === 'file:') return { ...readPropertyFile(fileURLToPath(url)), origin: address };
  const copy = options.lastKnownGoodDir && join(options.lastKnownGoodDir, `${digest(address)}.properties`);
  const origin = withoutCredentials(url);
  try {
    const body = await fetchWithRetries(url, options);
    if (copy) {
      mkdirSync(options.lastKnownGoodDir as string, { recursive: true, mode: 0o700 });
      writeFileSync(copy, body, { mode: 0o600 });
    }
    return { origin, values: getProperties(body) };
  } catch (error) {
    if (copy && existsSync(copy)) return { ...readPropertyFile(copy), origin: `${origin} (last known good copy)` };
    throw new Error(`${origin} cannot be read: ${(error as Error).message}`, { cause: error });
  }
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
