// The parsed files of the production-like Compose stack.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { parse } from 'yaml';

/** The part of a compose service that the tests check. */
export interface Service {
  image?: string;
  build?: { context: string; target?: string; args?: Record<string, string> };
  environment?: Record<string, string>;
  env_file?: { path: string; required: boolean }[];
  networks?: string[] | Record<string, unknown>;
  configs?: { source: string; target: string }[];
  command?: string | string[];
  volumes?: string[];
  ports?: string[];
  profiles?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  restart?: string;
  healthcheck?: { test?: string[]; disable?: boolean };
  privileged?: boolean;
  deploy?: { resources?: { limits?: Record<string, unknown> } };
}

export interface ComposeFile {
  include?: string[];
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean; ipam?: { config: { subnet: string }[] } } | null>;
  configs: Record<string, { file: string }>;
  volumes: Record<string, unknown>;
}

export interface RealmClient {
  clientId: string;
  secret: string;
  defaultClientScopes: string[];
  attributes: Record<string, string>;
  [setting: string]: unknown;
}

/** Returns the text of a file, by its path relative to the root of the repository. */
export function textOf(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');
}

/** Returns a path as compose reads it when no optional variable is set. */
const byDefault = (path: string) => path.replaceAll(/\$\{\w+:\+[^}]*\}/g, '');

/**
 * The compose file with its included files and the variables of its environment files, when no optional variable is
 * set.
 */
export const compose = readCompose();

function readCompose(): ComposeFile {
  const file = parse(textOf('docker-compose.yml'), { merge: true }) as ComposeFile;
  for (const path of includedFiles(file)) {
    const { services, configs = {} } = parse(textOf(path)) as ComposeFile;
    Object.assign(file.services, services);
    for (const [name, config] of Object.entries(configs))
      file.configs[name] = { file: join(dirname(path), config.file) };
  }
  for (const service of Object.values(file.services)) {
    const variables = (service.env_file ?? []).map(({ path }) => parseEnv(textOf(byDefault(path))));
    if (variables.length > 0) service.environment = Object.assign({}, ...variables, service.environment);
  }
  return file;
}

function includedFiles({ include = [] }: ComposeFile): string[] {
  return include.map(byDefault);
}

/** Returns the names of a service's networks, which the file contains as a list or as a map with aliases. */
export function networksOf(name: string): string[] {
  const networks = compose.services[name]?.networks ?? [];
  return Array.isArray(networks) ? networks : Object.keys(networks);
}

export const realm = JSON.parse(textOf('deploy/keycloak/service-router-realm.json')) as {
  clients: RealmClient[];
  clientScopes: { name: string; attributes: Record<string, string> }[];
};

/**
 * Returns the variables that the compose file takes from the environment. The file cannot be used while a `required`
 * variable is not set.
 */
export function composeVariables(): Map<string, { required: boolean }> {
  const variables = new Map<string, { required: boolean }>();
  const texts = ['docker-compose.yml', ...includedFiles(compose)].map(textOf).join('\n');
  for (const [, name = '', operator] of texts.matchAll(/(?<!\$)\$\{(\w+)(:\?|:-)?/g)) {
    variables.set(name, { required: operator === ':?' || variables.get(name)?.required === true });
  }
  return variables;
}
