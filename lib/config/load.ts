// Loads the configuration: merges all layers, validates the result against the schema and freezes it.

import { ProblemsError } from './problems-error.ts';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { stepsOfPointer } from '#lib/json/json-pointer.ts';
import { expectationOf } from '#lib/json/schema-expectation.ts';
import { problemOfBackEndUrl } from './back-end-url.ts';
import { problemOfTaskDomain } from './task-domain.ts';
import { renameDeprecated } from './deprecated-keys.ts';
import { keyOfVariable, readEnvironment, variableOf } from './environment.ts';
import { isNetwork } from './network.ts';
import { checkProduction, isProduction, type PartialConfig } from './production.ts';
import { type Config, type ConfigKey, configSchema } from './schema.ts';
import { RemoteFileOutage, type RemoteLayer, readRemote } from './remote-files.ts';
import { localFiles, mergeLayers, readDefaults, readProfile } from './sources.ts';
import { withoutPassword } from './without-password.ts';

/**
 * Thrown when the configuration is invalid; the process must not start with it. `problems` has one line per problem.
 */
export class ConfigError extends ProblemsError {
  override readonly name = 'ConfigError';
  /** True when a remote file cannot be fetched at the moment: loading may succeed later without a change. */
  readonly isOutage: boolean;
  constructor(problems: readonly string[], { isOutage = false } = {}) {
    super(problems, 'the configuration is not valid');
    this.isOutage = isOutage;
  }
}

/** Options of {@link loadConfig}. */
export interface LoadOptions {
  /** Environment variables. Default: `process.env`. */
  env?: NodeJS.ProcessEnv;
  /** Root directory of the property files. Default: the gateway's folder. */
  rootDir?: string;
  /** Keys without a default that this program requires. */
  required?: readonly ConfigKey[];
  /**
   * Whether last known good copies are used instead of remote files that cannot be fetched. Default: true. A reload
   * sets false, because the active configuration is at least as new as the copies.
   */
  useCopies?: boolean;
  /** Aborts the attempts to fetch remote files. */
  signal?: AbortSignal;
  /** Additional checks in production, beyond the schema; resolves with one line per problem. */
  checkProduction?: (config: PartialConfig) => Promise<readonly string[]>;
}

/** A configuration with the origin (layer) of each key that is set. */
export interface LoadedConfig {
  readonly config: Config;
  readonly origins: Readonly<Record<string, string>>;
  /**
   * One line for each deprecated or removed name in use, with advice, and for each copy used instead of a remote file.
   */
  readonly warnings: readonly string[];
  /**
   * Saves last known good copies of the remote files. Call it once the program runs with this configuration, so that a
   * rejected file never replaces an accepted copy.
   * @param warn called with a sentence for each copy that cannot be written
   */
  keepCopies(warn: (problem: string) => void): void;
}

const ajv = new Ajv({
  allErrors: true,
  coerceTypes: true,
  strict: true,
  keywords: ['secret'],
  verbose: true,
  // Every program compiles this schema at startup. Validating the schema would mean compiling the meta-schema too,
  // which takes longer, so a test validates the schema instead. Optimised code would take twice as long to generate and
  // would run only a few times.
  validateSchema: false,
  code: { optimize: false },
});
ajv.addFormat('network', isNetwork);
ajv.addFormat('http-url', (value) => hasProtocol(value, ['http:', 'https:']));
ajv.addFormat('http-origin', (value) => hasProtocol(value, ['http:', 'https:']) && isOrigin(value));
ajv.addFormat('back-end-url', (value) => problemOfBackEndUrl(value) === null);
ajv.addFormat('task-domain', (value) => problemOfTaskDomain(value) === null);
ajv.addFormat('payload-key', /^[\w-]{1,32}:[\w+/-]{43}=?$/);
ajv.addFormat(
  'engine-database-url',
  (value) => /^sqlite:./.test(value) || hasProtocol(value, ['postgres:', 'postgresql:']),
);
ajv.addFormat('amqp-url', (value) => hasProtocol(value, ['amqp:', 'amqps:']));
ajv.addFormat('redis-url', (value) => hasProtocol(value, ['redis:', 'rediss:']) && hasRedisParts(value));

/** Compiled validators, by the keys that they validate. */
const validators = new Map<string, ValidateFunction>();

/** Returns a validator for these keys only: compiling the types of all keys would take a fifth of the startup time. */
function validatorOf(keys: readonly string[]): ValidateFunction {
  const name = keys.toSorted().join();
  const types = Object.entries(configSchema.properties).filter(([key]) => keys.includes(key));
  const schema = { ...configSchema, properties: Object.fromEntries(types), required: [] };
  const validator = validators.get(name) ?? ajv.compile(schema);
  validators.set(name, validator);
  return validator;
}

/** Returns the default values of the keys that are not set. */
function defaultsBeside(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const types = Object.entries(configSchema.properties as Record<string, { default?: unknown }>);
  const absent = types.filter(([key, type]) => type.default !== undefined && values[key] === undefined);
  return Object.fromEntries(absent.map(([key, type]) => [key, structuredClone(type.default)]));
}

/**
 * Loads the configuration. Later layers override earlier ones: `config/default.properties`, the files of `CONFIG_URL`,
 * the local profile, the environment.
 * @throws ConfigError that lists all problems
 */
export async function loadConfig(options: LoadOptions = {}): Promise<LoadedConfig> {
  const { env = process.env, required = [] } = options;
  const { layers, errors } = await readLayers(options);
  const { values: text, origins, warnings, problems: contradictions } = renameDeprecated(mergeLayers(layers));
  const problems = [...errors.map(({ message }) => message), ...contradictions];
  const values: Record<string, unknown> = Object.fromEntries(
    Object.entries(text).map(([key, value]) => [key, parse(key, value)]),
  );
  const validate = validatorOf(Object.keys(values));
  if (!validate(values)) problems.push(...(validate.errors ?? []).map((error) => describe(error, origins)));
  Object.assign(values, defaultsBeside(values));
  for (const key of required) {
    if (values[key] === undefined)
      problems.push(`${key} is not set: set it in a property file or as ${variableOf(key)}`);
  }
  const valid = withoutInvalid(values, validate.errors ?? []);
  if (isProduction(env, valid)) {
    problems.push(...checkProduction(valid, origins), ...((await options.checkProduction?.(valid)) ?? []));
  }
  const isOutage = errors.some((error) => error instanceof RemoteFileOutage);
  if (problems.length > 0) throw new ConfigError(problems, { isOutage });
  return {
    config: Object.freeze(values) as unknown as Config,
    origins,
    warnings: [...layers.flatMap(({ warning }) => warning ?? []), ...warnings],
    keepCopies: (warn) => layers.forEach((layer) => keepCopy(layer, warn)),
  };
}

/** Returns the paths of the local files that {@link loadConfig} reads, including files that do not exist yet. */
export function localFilesOf(env = process.env): string[] {
  const { values } = readEnvironment(env);
  return localFiles({ 'config.url': splitList(values['config.url'] ?? ''), profile: values['profile'] });
}

/** Removes invalid values, so that the production checks can run on the rest and all problems are listed together. */
function withoutInvalid(values: Record<string, unknown>, errors: readonly ErrorObject[]): PartialConfig {
  const invalid = new Set(errors.map(({ instancePath }) => keyOfPath(instancePath)));
  return Object.fromEntries(Object.entries(values).filter(([key]) => !invalid.has(key))) as PartialConfig;
}

/** Reads all layers. @returns the layers that can be read, and one error for each layer that cannot */
async function readLayers(options: LoadOptions): Promise<{ layers: RemoteLayer[]; errors: Error[] }> {
  const { env = process.env, rootDir, useCopies, signal } = options;
  const environment = readEnvironment(env);
  const setting = (key: ConfigKey) => environment.values[key];
  const remote = {
    timeoutMs: Number(setting('config.timeoutMs') ?? 3000) || 3000,
    lastKnownGoodDir: setting('config.lastKnownGoodDir'),
    useCopies,
    signal,
  };
  const attempts: (() => RemoteLayer | null | Promise<RemoteLayer>)[] = [
    () => readDefaults(rootDir),
    ...splitList(setting('config.url') ?? '').map(
      (address, index) => () => readRemote(address, { ...remote, position: index + 1 }),
    ),
    () => (setting('profile') ? readProfile(setting('profile') as string, keyOfVariable, rootDir) : null),
  ];
  const settled = await Promise.allSettled(attempts.map(async (attempt) => attempt()));
  const layers: RemoteLayer[] = [];
  const errors: Error[] = [];
  for (const result of settled) {
    if (result.status === 'rejected') errors.push(result.reason as Error);
    else if (result.value !== null) layers.push(result.value);
  }
  return { layers: [...layers, environment], errors };
}

function keepCopy({ origin, keep }: RemoteLayer, warn: (problem: string) => void): void {
  try {
    keep?.();
  } catch (error) {
    warn(`${origin}: the last known good copy cannot be written: ${(error as Error).message}`);
  }
}

/** Splits comma-separated lists. All other types are coerced by the schema. */
function parse(key: string, value: string): unknown {
  const type = (typeOfKey(key) as { type?: string } | undefined)?.type;
  return type === 'array' ? splitList(value) : value.trim();
}

function typeOfKey(key: string): unknown {
  if (Object.hasOwn(configSchema.properties, key)) return configSchema.properties[key];
  return Object.entries(configSchema.patternProperties).find(([pattern]) => new RegExp(pattern).test(key))?.[1];
}

function splitList(value: string): string[] {
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function describe(error: ErrorObject, origins: Readonly<Record<string, string>>): string {
  const unknown = error.params['additionalProperty'] as string | undefined;
  const key = unknown ?? keyOfPath(error.instancePath);
  const where = `${origins[key] ?? 'configuration'}: ${key}`;
  if (unknown !== undefined) return `${where} is not a known key${suggestion(unknown)}`;
  const isSecret = (error.parentSchema as { secret?: boolean } | undefined)?.secret === true;
  const format = error.keyword === 'format' ? String(error.params['format']) : undefined;
  // This message omits the value, which may contain a password.
  if (format === 'back-end-url') return `${where} ${problemOfBackEndUrl(String(error.data))}`;
  if (format === 'task-domain') return `${where} ${problemOfTaskDomain(String(error.data))}`;
  if (format === 'redis-url' && URL.parse(String(error.data))?.host === '')
    return `${where} has no host: for a Redis on this machine, the host is 127.0.0.1`;
  const expected = format === undefined ? expectationOf(error) : expectedFormat(format);
  return `${where} ${expected}${isSecret ? '' : `, but is ${withoutPassword(JSON.stringify(error.data))}`}`;
}

function expectedFormat(format: string): string {
  return otherFormats[format] ?? `must be a URL (${format})`;
}

const otherFormats: Readonly<Record<string, string>> = {
  'http-url': 'must be an http or https URL',
  'http-origin':
    'must be an http or https URL such as http://127.0.0.1:8082, without a path (the path of each call begins with /api)',
  'redis-url':
    'must be rediss://user:password@host:port, or redis://…; percent-encode special characters of the user and the password (% is %25); the path, if any, must be the number of a database, such as /1',
  'payload-key': 'must be <key id>:<32 bytes in base64>; the id has at most 32 letters, digits, _ and -',
  'engine-database-url': 'must be sqlite:<file> or postgresql://user:password@host:port/database',
  'amqp-url': 'must be amqps://user:password@host:port/vhost, or amqp://…',
  network: 'must be an IP address or a network such as 10.0.0.0/8',
};

/** Returns the key to which a JSON pointer (RFC 6901) into the configuration refers. */
function keyOfPath(instancePath: string): string {
  return stepsOfPointer(instancePath)[0] ?? '';
}

function suggestion(unknown: string): string {
  const plain = (key: string) => key.toLowerCase().replace(/[^a-z0-9]/g, '');
  const close = Object.keys(configSchema.properties).find((key) => plain(key) === plain(unknown));
  return close === undefined ? '' : `; did you mean ${close}?`;
}

/** Returns whether a URL has no path, query or fragment. */
function isOrigin(value: string): boolean {
  const { pathname, search, hash } = new URL(value);
  return pathname === '/' && search === '' && hash === '';
}

/** Returns whether a URL has a host, decodable credentials, and no path other than the number of a database. */
function hasRedisParts(value: string): boolean {
  const { hostname, username, password, pathname } = new URL(value);
  try {
    decodeURIComponent(`${username}:${password}`);
  } catch {
    return false;
  }
  return hostname !== '' && /^\/?$|^\/\d+$/.test(pathname);
}

function hasProtocol(value: string, protocols: readonly string[]): boolean {
  return URL.canParse(value) && protocols.includes(new URL(value).protocol);
}
