// Reads the local configuration sources: property files and the profile.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse as parseDotenv } from 'dotenv';
import { getProperties } from 'properties-file';
import { gatewayDir } from './folders.ts';

/** One configuration layer: its values by key, as text, and its origin, which appears in messages. */
export interface Layer {
  readonly origin: string;
  readonly values: Readonly<Record<string, string>>;
}

/** The values of all layers by key and, for each key, the origin of the layer that set it. */
export interface MergedLayers {
  readonly values: Readonly<Record<string, string>>;
  readonly origins: Readonly<Record<string, string>>;
}

/** Merges layers; later layers override earlier ones. */
export function mergeLayers(layers: readonly Layer[]): MergedLayers {
  const values: Record<string, string> = {};
  const origins: Record<string, string> = {};
  for (const layer of layers) {
    for (const [key, value] of Object.entries(layer.values)) {
      values[key] = value;
      origins[key] = layer.origin;
    }
  }
  return { values, origins };
}

/**
 * Reads a local file in `.properties` syntax.
 * @param path path or file URL
 * @param origin name of the file in messages
 * @throws Error that names the file when it does not exist, cannot be read or is malformed
 */
export function readPropertyFile(path: string | URL, origin: string): Layer {
  return readLayer(path, origin, (text) => getProperties(text));
}

/** Reads a local file. @throws Error that names the file by its origin */
function readLayer(path: string | URL, origin: string, valuesOf: (text: string) => Layer['values']): Layer {
  try {
    return { origin, values: valuesOf(readFileSync(path, 'utf8')) };
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'there is no such file' : `cannot be read: ${message}`;
    throw new Error(`${origin}: ${reason}`, { cause });
  }
}

/**
 * Reads the first layer, `config/default.properties`.
 * @throws Error that names the file when it does not exist, cannot be read or is malformed
 */
export function readDefaults(rootDir = gatewayDir()): Layer {
  const origin = 'config/default.properties';
  return readPropertyFile(join(rootDir, origin), origin);
}

/**
 * Reads the profile from `config/<profile>.properties` or, if there is no such file, from `.env.<profile>`; returns
 * null when neither exists. A `.env` file may use both forms of a key: `router.port=…` or `ROUTER_PORT=…`.
 * @throws Error that names the file when it cannot be read or is malformed
 */
export function readProfile(
  profile: string,
  keyOfVariable: (name: string) => string | undefined,
  rootDir = gatewayDir(),
): Layer | null {
  const origin = `config/${profile}.properties`;
  const propertyFile = join(rootDir, origin);
  if (existsSync(propertyFile)) return readPropertyFile(propertyFile, origin);
  const dotenvName = `.env.${profile}`;
  const dotenvFile = join(rootDir, dotenvName);
  if (!existsSync(dotenvFile)) return null;
  return readLayer(dotenvFile, dotenvName, (text) =>
    Object.fromEntries(Object.entries(parseDotenv(text)).map(([name, value]) => [keyOfVariable(name) ?? name, value])),
  );
}

/** Returns the paths of the local files of a configuration, including files that do not exist yet. */
export function localFiles(config: { 'config.url': readonly string[]; profile: string | undefined }): string[] {
  const { 'config.url': addresses, profile } = config;
  const rootDir = gatewayDir();
  return [
    join(rootDir, 'config/default.properties'),
    ...addresses.flatMap(pathsOf),
    ...(profile === undefined ? [] : [join(rootDir, `config/${profile}.properties`), join(rootDir, `.env.${profile}`)]),
  ];
}

/** Returns the path of a file URL; an empty list for any other address. */
function pathsOf(address: string): string[] {
  try {
    return [fileURLToPath(address)];
  } catch {
    return [];
  }
}
