// Local sources of configuration: property files and the local profile.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse as parseDotenv } from 'dotenv';
import { getProperties } from 'properties-file';

/** One layer: its values by key as text, and the place to name when one of them is wrong. */
export interface Layer {
  readonly origin: string;
  readonly values: Readonly<Record<string, string>>;
}

const productDir = fileURLToPath(new URL('../..', import.meta.url));

/** A local property file in `.properties` syntax. */
export function readPropertyFile(path: string): Layer {
  return { origin: path, values: getProperties(readFileSync(path, 'utf8')) };
}

/** `config/default.properties`: the first layer. */
export function readDefaults(rootDir = productDir): Layer {
  const origin = 'config/default.properties';
  const path = join(rootDir, origin);
  if (!existsSync(path)) throw new Error(`${origin}: there is no such file`);
  return { ...readPropertyFile(path), origin };
}

/**
 * The local profile: `config/<profile>.properties`, else `.env.<profile>`; null when neither exists.
 * A `.env` file may use either spelling of a key: `router.port=…` or `ROUTER_PORT=…`.
 */
export function readProfile(
  profile: string,
  keyOfVariable: (name: string) => string | undefined,
  rootDir = productDir,
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

/** Paths of the local files that a configuration is read from, those that do not exist now included. */
export function localFiles(config: { 'config.url': readonly string[]; profile: string | undefined }): string[] {
  const { 'config.url': addresses, profile } = config;
  const named = addresses.filter((address) => URL.canParse(address) && new URL(address).protocol === 'file:');
  return [
    join(productDir, 'config/default.properties'),
    ...named.map((address) => fileURLToPath(address)),
    ...(profile === undefined
      ? []
      : [join(productDir, `config/${profile}.properties`), join(productDir, `.env.${profile}`)]),
  ];
}
