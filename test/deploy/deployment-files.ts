// The files of the production-like set as data.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** The part of a compose service that the tests look at. */
export interface Service {
  image?: string;
  build?: { context: string; target?: string; args?: Record<string, string> };
  environment?: Record<string, string>;
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

/** Text of a file by its path below the root. */
export function textOf(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');
}

export const compose = parse(textOf('docker-compose.yml'), { merge: true }) as ComposeFile;

/** Names of the networks a service is on: it lists them, or gives them aliases. */
export function networksOf(name: string): string[] {
  const networks = compose.services[name]?.networks ?? [];
  return Array.isArray(networks) ? networks : Object.keys(networks);
}

export const realm = JSON.parse(textOf('deploy/keycloak/service-router-realm.json')) as {
  clients: RealmClient[];
  clientScopes: { name: string; attributes: Record<string, string> }[];
};

/** Variables that the compose file takes from its environment; `required` ones stop it when they are not set. */
export function composeVariables(): Map<string, { required: boolean }> {
  const variables = new Map<string, { required: boolean }>();
  for (const [, name = '', operator] of textOf('docker-compose.yml').matchAll(/(?<!\$)\$\{(\w+)(:\?|:-)?/g)) {
    variables.set(name, { required: operator === ':?' || variables.get(name)?.required === true });
  }
  return variables;
}
