// The production profile: what is handy on a laptop and has no place where real data goes through.

import { isIP } from 'node:net';
import { withoutPassword } from './describe.ts';
import { isPrivateHost } from './private-host.ts';
import { type Config, configSchema } from './schema.ts';

/** A configuration that may have faults of its own: keys without a valid value are missing. */
export type PartialConfig = Partial<Config>;

/** The secrets of the dev clients (`dev/identity-provider/clients.ts`) are published: a test keeps both equal. */
const devSecret = /^(?:demo|reader|worker|ops|opaque|introspector)-secret$/;

type Deviation = NonNullable<PartialConfig['production.accepts']>[number];

const issuerKeys = ['oauth.issuer', 'oauth.jwksURL', 'oauth.tokenURL', 'oauth.introspectionURL'] as const;

/** Whether this process runs in production: `NODE_ENV=production`, or the profile `production`. */
export function isProduction(env: NodeJS.ProcessEnv, config: PartialConfig): boolean {
  return env['NODE_ENV'] === 'production' || config.profile === 'production';
}

/**
 * Everything in a configuration that production refuses, one line each. Addresses that need a look-up are not judged.
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

/** A property file may set any key, the issuer included. One that came in clear cannot accept this for itself. */
function openConfigurationFiles(config: PartialConfig, origins: Readonly<Record<string, string>>): string[] {
  const isOwnWord = origins['production.accepts']?.startsWith('http:') !== true;
  const isAccepted = isOwnWord && accepts(config, 'http-config');
  return (config['config.url'] ?? []).flatMap((address) =>
    problemsOfPlainHttp('config.url', address, { deviation: 'http-config', isAccepted }),
  );
}

/** What is asked in clear over a network can be answered by anybody on the way. */
function problemsOfPlainHttp(
  key: string,
  address: string | undefined,
  { deviation, isAccepted }: { deviation: Deviation; isAccepted: boolean },
): string[] {
  if (address === undefined || !/^http:/i.test(address) || !URL.canParse(address)) return [];
  const isNear = isPrivateHost(new URL(address).hostname);
  if (isNear && isAccepted) return [];
  const wayOut = `, or production.accepts must have ${deviation} when no other machine can be in between`;
  return [`${key} is ${withoutPassword(address)}: it must be https${isNear ? wayOut : ''}`];
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
export function accepts(config: PartialConfig, deviation: Deviation): boolean {
  return config['production.accepts']?.includes(deviation) === true;
}

function hostOf(url: string | undefined): string | undefined {
  return url === undefined ? undefined : new URL(url).hostname;
}

function valueOf(config: PartialConfig, key: string): unknown {
  return (config as Readonly<Record<string, unknown>>)[key];
}
