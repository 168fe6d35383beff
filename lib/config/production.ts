// Checks the configuration in production: rejects settings that are acceptable only in development.

import { isIP } from 'node:net';
import { isPrivateHost } from './private-host.ts';
import { type Config, configSchema } from './schema.ts';
import { withoutPassword } from './without-password.ts';

/** A configuration that may be invalid: keys without a valid value are absent. */
export type PartialConfig = Partial<Config>;

/** Matches the published secrets of the dev clients. A test compares it with `dev/identity-provider/clients.ts`. */
const devSecret = /^(?:demo|reader|worker|ops|opaque|introspector)-secret$/;

type Deviation = NonNullable<PartialConfig['production.accepts']>[number];

const issuerKeys = ['oauth.issuer', 'oauth.jwksURL', 'oauth.tokenURL', 'oauth.introspectionURL'] as const;

/** Returns whether this process runs in production: `NODE_ENV=production`, or the profile `production`. */
export function isProduction(env: NodeJS.ProcessEnv, config: PartialConfig): boolean {
  return env['NODE_ENV'] === 'production' || config.profile === 'production';
}

/**
 * Returns the problems of a configuration that production rejects, one line each. Host names are not resolved.
 * @param origins the layer that set each key
 */
export function checkProduction(config: PartialConfig, origins: Readonly<Record<string, string>>): string[] {
  const found = [
    ...devSecrets(config),
    ...openIssuers(config),
    ...openConfigurationFiles(config, origins),
    ...openAddresses(config),
  ];
  return found.map((problem) => `production: ${problem}`);
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
  return issuerKeys.flatMap((key) =>
    problemsOfPlainHttp(key, config[key], { deviation: 'http-issuer', isAccepted: accepts(config, 'http-issuer') }),
  );
}

/**
 * Returns the problems with property files that are fetched over plain HTTP: each could set any key, including the
 * issuer. A file fetched over plain HTTP cannot itself accept this deviation.
 */
function openConfigurationFiles(config: PartialConfig, origins: Readonly<Record<string, string>>): string[] {
  const isTrustedOrigin = origins['production.accepts']?.startsWith('http:') !== true;
  const isAccepted = isTrustedOrigin && accepts(config, 'http-config');
  return (config['config.url'] ?? []).flatMap((address) =>
    problemsOfPlainHttp('config.url', address, { deviation: 'http-config', isAccepted }),
  );
}

/** Returns the problem with a plain-HTTP address: anyone on the network path can forge the response. */
function problemsOfPlainHttp(
  key: string,
  address: string | undefined,
  { deviation, isAccepted }: { deviation: Deviation; isAccepted: boolean },
): string[] {
  if (address === undefined || !/^http:/i.test(address) || !URL.canParse(address)) return [];
  const isPrivate = isPrivateHost(new URL(address).hostname);
  if (isPrivate && isAccepted) return [];
  const alternative = `, or, if no other machine is on the network path, production.accepts must contain ${deviation}`;
  return [`${key} is ${withoutPassword(address)}: it must be https${isPrivate ? alternative : ''}`];
}

function openAddresses(config: PartialConfig): string[] {
  const problems: string[] = [];
  for (const engine of config['conductor.url'] ?? []) {
    if (!isPublicLiteral(hostOf(engine)) || accepts(config, 'open-engine')) continue;
    problems.push(
      `conductor.url is ${withoutPassword(engine)}: the engine has no authentication, so it must not have a public address`,
    );
  }
  const api = config['conductor.apiURL'];
  if (isPlainText(api, 'http')) {
    problems.push(
      `conductor.apiURL is ${withoutPassword(api)}: workers would send their tokens unencrypted; it must be https`,
    );
  }
  const schemes = [
    ['mdm.updateQueueURL', 'amqp'],
    ['redis.url', 'redis'],
  ] as const;
  for (const [key, scheme] of schemes) {
    const address = config[key];
    if (isPlainText(address, scheme)) {
      problems.push(`${key} is ${withoutPassword(address)}: it must be ${scheme}s`);
    }
  }
  if (isPublicLiteral(config['ops.host'], { unspecified: false })) {
    problems.push(
      `ops.host is ${config['ops.host']}: the operations port has no authentication, so it must not have a public address`,
    );
  }
  return problems;
}

/** Returns whether an address has this scheme, which does not use TLS, and a host that is not private. */
function isPlainText(address: string | undefined, scheme: string): address is string {
  if (address === undefined) return false;
  const { protocol, hostname } = new URL(address);
  return protocol === `${scheme}:` && !isPrivateHost(hostname);
}

/**
 * Returns whether a host is an IP address that is not private. `unspecified` decides whether 0.0.0.0 and :: count as
 * public. They count as public in the address of a server, but not as a bind address, because containers need them.
 */
function isPublicLiteral(host: string | undefined, { unspecified = true } = {}): boolean {
  const literal = host?.replace(/^\[|\]$/g, '') ?? '';
  if (isIP(literal) === 0) return false;
  return literal === '0.0.0.0' || literal === '::' ? unspecified : !isPrivateHost(literal);
}

/** Returns whether the operator has accepted a deviation (`production.accepts`). */
export function accepts(config: PartialConfig, deviation: Deviation): boolean {
  return config['production.accepts']?.includes(deviation) === true;
}

function hostOf(url: string | undefined): string | undefined {
  return url === undefined ? undefined : new URL(url).hostname;
}

function valueOf(config: PartialConfig, key: string): unknown {
  return (config as Readonly<Record<string, unknown>>)[key];
}
