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

/** Reads a local file in `.properties` syntax. */
export function readPropertyFile(path: string): Layer {
  return { origin: path, values: getProperties(readFileSync(path, 'utf8')) };
}

/** Reads the first layer, `config/default.properties`. @throws Error when the file does not exist */
export function readDefaults(rootDir = gatewayDir()): Layer {
  const origin = 'config/default.properties';
  const path = join(rootDir, origin);
  if (!existsSync(path)) throw new Error(`${origin}: there is no such file`);
  return { ...readPropertyFile(path), origin };
}

/**
 * Reads the profile from `config/<profile>.properties` or, if there is no such file, from `.env.<profile>`; returns
 * null when neither exists. A `.env` file may use both forms of a key: `router.port=…` or `ROUTER_PORT=…`.
 */
export function readProfile(
  profile: string,
  keyOfVariable: (name: string) => string | undefined,
  rootDir = gatewayDir(),
): Layer | null {
  const origin = `config/${profile}.properties`;
  const propertyFile = join(rootDir, origin);
  if (existsSync(propertyFile)) return { ...readPropertyFile(propertyFile), origin };
  const dotenvFile = join(rootDir, `.env.${profile}`);
  if (!existsSync(dotenvFile)) return null;
  const values = Object.entries(parseDotenv(readFileSync(dotenvFile))).map(([name, value]) => [
    keyOfVariable(name) ?? name,
    value,
  ]);
  return { origin: `.env.${profile}`, values: Object.fromEntries(values) };
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
