// Reads the flags and the configuration of `npm start` and derives the environment of its programs.

import { isIPv6 } from 'node:net';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { loadConfig } from '#lib/config/load.ts';
import type { Config } from '#lib/config/schema.ts';
import { stackVariables } from '#lib/config/stack-variables.ts';
import { keyOfVariable, variableOf } from '#lib/config/environment.ts';
import { redisUrlOf } from '../engine/redis-server.ts';
import { sharesDatabase } from '../engine/start-engine.ts';
import { stackDomains, type StackDomain } from './domains.ts';
import { checkRouterCertificate, routerCertificate, trustInRouter } from './router-certificate.ts';
import { findFreePort, type StackPort, stackPorts } from '../setup/ports.mjs';

/** The output of `npm start -- --help`. */
export const help = `Usage: npm start [-- [--store sqlite|redis] [--verbose]]

Runs the whole stack on this machine until Ctrl-C: workflow engine, identity provider, back-end stand-ins, router, workers.

  --store     where the workflow engine keeps its data: sqlite (default), or redis, which is faster and needs redis-server
  --verbose   shows every program's log lines here as well (they always go to <STATE_DIR>/logs/)
  --help      this text

${stackVariables}
`;

/** The flags of `npm start`. */
export interface Flags {
  readonly verbose: boolean;
  readonly help: boolean;
  /** Store of the stack's own engine. */
  readonly store: Store;
}

const stores = ['sqlite', 'redis'] as const;
/** Stores of the stack's own engine. */
export type Store = (typeof stores)[number];

/** Parses the flags. @throws Error with the help when a flag or the store is unknown */
export function parseFlags(args: readonly string[]): Flags {
  try {
    const options = { verbose: { type: 'boolean' }, help: { type: 'boolean' }, store: { type: 'string' } } as const;
    const { verbose = false, help = false, store: name = 'sqlite' } = parseArgs({ args: [...args], options }).values;
    const store = stores.find((known) => known === name);
    if (store === undefined) throw new Error(`--store ${name} is not one of ${stores.join(', ')}`);
    return { verbose, help, store };
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${help}`, { cause: error });
  }
}

/** The settings of a stack. */
export interface StackSettings {
  /** Absolute path of the state directory. */
  readonly stateDir: string;
  /** URL of a running engine to use; undefined when the stack starts its own. */
  readonly givenEngine: string | undefined;
  /** Issuer of a running identity provider to use; undefined when the stack starts its own. */
  readonly givenIssuer: string | undefined;
  /** Whether the configuration names the back-end stand-ins, so that the stack starts them. */
  readonly usesStandIns: boolean;
  /** Task domains with their own workers. */
  readonly domains: readonly StackDomain[];
  /** OAuth client of the workers. */
  readonly workersClient: string;
  readonly urls: StackUrls;
  /** True when no program on this machine may open the database of the stack's own engine. */
  readonly isDatabaseHidden: boolean;
  /** Port of the stack's own Redis server; undefined when its engine does not run on Redis. */
  readonly redisPort: number | undefined;
  /** URL of the router's Redis: the configured one, else the stack's own; undefined when there is none. */
  readonly redisUrl: string | undefined;
  /** Prefix of the router's records in this Redis. */
  readonly recordsKeyPrefix: string;
  readonly ports: readonly StackPort[];
  /** Environment of every program. */
  readonly env: NodeJS.ProcessEnv;
}

/** Base URLs of the stack's programs. */
export interface StackUrls {
  readonly router: string;
  readonly operations: string;
  readonly engine: string;
  readonly identityProvider: string;
  readonly backEnds: string;
}

/** Options of {@link readSettings}. */
export interface SettingsOptions extends Partial<Pick<Flags, 'store'>> {
  /** Whether programs on this machine may open the SQLite file of the stack's own engine. */
  readonly isShared?: () => Promise<boolean>;
}

/**
 * Reads the configuration and fills in the addresses that follow from the ports. Values that are set outside
 * `config/default.properties` take precedence.
 * @throws ConfigError, or an Error when NODE_ENV is production or a store is chosen for a given engine
 */
export async function readSettings(
  env: NodeJS.ProcessEnv,
  { store = 'sqlite', isShared = sharesDatabase }: SettingsOptions = {},
): Promise<StackSettings> {
  refuseProduction(env);
  const { config, origins } = await loadConfig({ env });
  const [firstEngine] = config['conductor.url'];
  const givenEngine = origins['conductor.url'] === undefined ? undefined : firstEngine;
  if (store === 'redis' && givenEngine !== undefined)
    throw new Error(`--store redis requires that the stack starts the engine, but conductor.url is ${givenEngine}`);
  const givenIssuer = origins['oauth.issuer'] === undefined ? undefined : config['oauth.issuer'];
  const ports = await Promise.all(stackPorts.map((entry) => portOf(entry, config)));
  const own = urlsOf(config, ports);
  const urls = { ...own, engine: givenEngine ?? own.engine, identityProvider: givenIssuer ?? own.identityProvider };
  const isUnset = ([key]: readonly [key: string, value: string]) => origins[key] === undefined;
  const isAdapted = ([key]: readonly [key: string, value: string]) =>
    origins[key] === undefined || origins[key] === 'config/default.properties';
  const standIns = standInKeys(config, urls.backEnds).filter(isAdapted);
  const isUnused: Partial<Record<string, boolean>> = {
    'conductor.port': givenEngine !== undefined,
    'idp.port': givenIssuer !== undefined,
    'backends.port': standIns.length === 0,
  };
  const stateDir = resolve(config['state.dir']);
  const redis = await redisOf(config, store);
  const { redisPort, redisUrl } = redis;
  const hasOwnDatabase =
    givenEngine === undefined && redisPort === undefined && origins['conductor.databaseURL'] === undefined;
  const apiUrl = [['conductor.apiURL', `${urls.router}/conductor/api`] as const].filter(isAdapted);
  if (apiUrl.length > 0) checkRouterCertificate(config, urls.router);
  // The stack's own identity provider knows only the development clients.
  const ofStack = Object.entries(ownKeys(urls)).filter(givenIssuer === undefined ? isAdapted : isUnset);
  const filledIn = [...ofStack, ...apiUrl, ...standIns];
  const isDatabaseHidden = hasOwnDatabase && !(await isShared());
  return {
    stateDir,
    givenEngine,
    givenIssuer,
    usesStandIns: standIns.length > 0,
    domains: await stackDomains({ ...config, ...Object.fromEntries(filledIn) }),
    workersClient: config['workers.clientId'] ?? devWorkers.clientId,
    urls,
    isDatabaseHidden,
    ...redis,
    ports: ports.filter(({ key }) => isUnused[key] !== true),
    env: {
      ...env,
      ...trustInRouter(config, env),
      ...toVariables(filledIn),
      // The stack's own engine keeps its database in this file, whether it runs with Java or in a container.
      ...(hasOwnDatabase && !isDatabaseHidden
        ? { CONDUCTOR_DATABASEURL: `sqlite:${join(stateDir, 'engine', 'conductor.db')}` }
        : {}),
      ...(redisUrl !== undefined && origins['redis.url'] === undefined ? { REDIS_URL: redisUrl } : {}),
      ...(givenIssuer === undefined ? { OAUTH_AUDIENCE: config['oauth.audience'] ?? 'urn:service-router' } : {}),
      ...Object.fromEntries(ports.map(({ variable, port }) => [variable, String(port)])),
      STATE_DIR: stateDir,
    },
  };
}

function refuseProduction(env: NodeJS.ProcessEnv): void {
  if (env['NODE_ENV'] !== 'production') return;
  throw new Error('npm start is for development: its clients and secrets are public. It refuses NODE_ENV=production.');
}

async function redisOf(
  config: Config,
  store: Store,
): Promise<Pick<StackSettings, 'redisPort' | 'redisUrl' | 'recordsKeyPrefix'>> {
  const redisPort = store === 'redis' ? await findFreePort() : undefined;
  // An engine on Redis has no index, so the router keeps records of executions. In the engine's Redis, these records
  // are as durable as the executions.
  const ownUrl = redisPort === undefined ? undefined : redisUrlOf(redisPort);
  return { redisPort, redisUrl: config['redis.url'] ?? ownUrl, recordsKeyPrefix: config['records.keyPrefix'] };
}

/** Returns the port with its configured number and address; the number 0 is replaced with the number of a free port. */
async function portOf(entry: (typeof stackPorts)[number], config: Config): Promise<(typeof stackPorts)[number]> {
  const host = entry.hostKey === undefined ? undefined : config[entry.hostKey];
  const port = config[entry.key] || (await findFreePort(host));
  return { ...entry, ...(host === undefined ? {} : { host }), port };
}

/** Returns the base URL of each program of the stack, as other programs on this machine reach it. */
function urlsOf(config: Config, ports: typeof stackPorts): StackUrls {
  const scheme = routerCertificate(config) === undefined ? 'http' : 'https';
  const urlAt = (key: (typeof ports)[number]['key'], host = '127.0.0.1') =>
    `http://${reachableHost(host)}:${ports.find((entry) => entry.key === key)?.port}`;
  return {
    router: urlAt('router.port', config['router.host']).replace('http', scheme),
    operations: urlAt('ops.port', config['ops.host']),
    engine: urlAt('conductor.port'),
    identityProvider: urlAt('idp.port'),
    backEnds: urlAt('backends.port', config['backends.host']),
  };
}

/** Returns the host of a URL for a program that listens on `host`. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return isIPv6(host) ? `[${host}]` : host;
}

function toVariables(values: readonly (readonly [key: string, value: string])[]): Record<string, string> {
  const nameOf = (key: string) => (keyOfVariable(variableOf(key)) === key ? variableOf(key) : key);
  return Object.fromEntries(values.map(([key, value]) => [nameOf(key), value]));
}

/** Returns the configured addresses of the back-end stand-ins, with the port that the stand-ins have in this stack. */
function standInKeys(config: Config, backEnds: string): [key: string, value: string][] {
  const usual = `http://127.0.0.1:${stackPorts.find(({ key }) => key === 'backends.port')?.port}/`;
  return Object.entries(config as Readonly<Record<string, unknown>>).flatMap(([key, value]) =>
    typeof value === 'string' && value.startsWith(usual) ? [[key, `${backEnds}/${value.slice(usual.length)}`]] : [],
  );
}

/** OAuth client of the workers at the stack's own identity provider. */
const devWorkers = { clientId: 'worker', clientSecret: 'worker-secret' };

/** Returns the addresses of the stack's own engine and identity provider, and the development clients. */
function ownKeys({ engine, identityProvider }: StackUrls): Record<string, string> {
  return {
    'conductor.url': engine,
    'oauth.issuer': identityProvider,
    'workers.clientId': devWorkers.clientId,
    'workers.clientSecret': devWorkers.clientSecret,
    'ops.clientId': 'ops',
    'ops.clientSecret': 'ops-secret',
  };
}
