// The production profile: what is handy on a laptop and has no place where real data goes through.

import { isIP } from 'node:net';
import { isPrivateHost } from './private-host.ts';
import { type Config, configSchema } from './schema.ts';

/** A configuration that may have faults of its own: keys without a valid value are missing. */
export type PartialConfig = Partial<Config>;

/** The secrets of the dev clients (`dev/identity-provider/clients.ts`) are published: a test keeps both equal. */
const devSecret = /^(?:demo|reader|worker|ops|opaque|introspector)-secret$/;

const issuerKeys = ['oauth.issuer', 'oauth.jwksURL', 'oauth.tokenURL', 'oauth.introspectionURL'] as const;

/** Whether this process runs in production: `NODE_ENV=production`, or the profile `production`. */
export function isProduction(env: NodeJS.ProcessEnv, config: PartialConfig): boolean {
  return env['NODE_ENV'] === 'production' || config.profile === 'production';
}

/** Everything in a configuration that production refuses, one line each. Addresses that need a look-up are not judged. */
export function checkProduction(config: PartialConfig): string[] {
  return [...devSecrets(config), ...openIssuers(config), ...openAddresses(config)].map(
    (problem) => `production: ${problem}`,
  );
}

function devSecrets(config: PartialConfig): string[] {
  return Object.entries(configSchema.properties)
    .filter(([key, type]) => (type as { secret?: boolean }).secret === true && hasDevSecret(valueOf(config, key)))
    .map(([key]) => `${key} is the published secret of a dev client: set another one`);
}

function hasDevSecret(value: unknown): boolean {
  return typeof value === 'string' && devSecret.test(value);
}

function openIssuers(config: PartialConfig): string[] {
  return issuerKeys.flatMap((key) => {
    const value = config[key];
    if (value === undefined || !value.startsWith('http:')) return [];
    const near = isPrivateHost(new URL(value).hostname);
    if (near && accepts(config, 'http-issuer')) return [];
    return [
      `${key} is ${value}: it must be https${near ? ', or production.accepts must have http-issuer when no other machine can be in between' : ''}`,
    ];
  });
}

function openAddresses(config: PartialConfig): string[] {
  const problems: string[] = [];
  for (const engine of config['conductor.url'] ?? []) {
    if (!isPublicLiteral(hostOf(engine)) || accepts(config, 'open-engine')) continue;
    problems.push(`conductor.url is ${engine}: the engine has no authentication, so it must not have a public address`);
  }
  const api = config['conductor.apiURL'];
  if (api?.startsWith('http:') === true && !isPrivateHost(hostOf(api) ?? '')) {
    problems.push(`conductor.apiURL is ${api}: workers would send their tokens in clear; it must be https`);
  }
  if (isPublicLiteral(config['ops.host'], { unspecified: false })) {
    problems.push(`ops.host is ${config['ops.host']}: the operations port has no authentication and is never public`);
  }
  return problems;
}

/** `unspecified`: whether 0.0.0.0 and :: count. As a target they are all of a machine; to bind to, a container needs them. */
function isPublicLiteral(host: string | undefined, { unspecified = true } = {}): boolean {
  const literal = host?.replace(/^\[|\]$/g, '') ?? '';
  if (isIP(literal) === 0) return false;
  return literal === '0.0.0.0' || literal === '::' ? unspecified : !isPrivateHost(literal);
}

/** Whether the operator has taken a deviation upon himself. */
export function accepts(config: PartialConfig, deviation: 'http-issuer' | 'open-engine'): boolean {
  return config['production.accepts']?.includes(deviation) === true;
}

function hostOf(url: string | undefined): string | undefined {
  return url === undefined ? undefined : new URL(url).hostname;
}

function valueOf(config: PartialConfig, key: string): unknown {
  return (config as Readonly<Record<string, unknown>>)[key];
}
