// What `npm start` was asked to do: its flags, its ports and the configuration its programs will get.

import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { loadConfig } from '#lib/config/load.ts';
import { variableOf } from '#lib/config/environment.ts';
import { queueEnvironment } from '../engine/engine-arguments.ts';
import { findFreePort, type StackPort, stackPorts } from '../setup/ports.mjs';

export const help = `Usage: npm start [-- --verbose]

Runs the whole stack on this machine until Ctrl-C: workflow engine, identity provider, back-end stand-ins, router, workers.

  --verbose   shows every program's log lines here as well (they always go to <STATE_DIR>/logs/)
  --help      this text

Environment (default):
  ROUTER_PORT (8080)  OPS_PORT (8081)  CONDUCTOR_PORT (8082)  IDP_PORT (8083)  BACKENDS_PORT (8084)
  STATE_DIR (.run)    databases, keys and logs; two stacks need two
  CONDUCTOR_URL       uses the engine that runs there instead of starting one
  OAUTH_ISSUER        uses that identity provider instead of starting one
Every other key of the configuration can be set as well: docs/configuration.md.
`;

export interface Flags {
  readonly verbose: boolean;
  readonly help: boolean;
}

/** @throws Error for people, when a flag is unknown */
export function parseFlags(args: readonly string[]): Flags {
  try {
    const options = { verbose: { type: 'boolean' }, help: { type: 'boolean' } } as const;
    const { values } = parseArgs({ args: [...args], options });
    return { verbose: values.verbose ?? false, help: values.help ?? false };
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${help}`, { cause: error });
  }
}

/** Everything the stack is built from. */
export interface StackSettings {
  /** Absolute. */
  readonly stateDir: string;
  /** An engine that runs already; it is used instead of one of our own. */
  readonly givenEngine: string | undefined;
  /** Issuer of an identity provider that runs already; it is used instead of one of our own. */
  readonly givenIssuer: string | undefined;
  /** OAuth client of the workers. */
  readonly workersClient: string;
  readonly urls: StackUrls;
  /** How the engine reaches the broker of MDM's update queue; undefined when there is none. */
  readonly updateQueue: NodeJS.ProcessEnv | undefined;
  readonly ports: readonly StackPort[];
  /** What every program finds in its environment. */
  readonly env: NodeJS.ProcessEnv;
}

export interface StackUrls {
  readonly router: string;
  readonly operations: string;
  readonly engine: string;
  readonly identityProvider: string;
  readonly backEnds: string;
}

/**
 * Reads the configuration and fills in the addresses that follow from the ports. What a property file, a profile or
 * the environment says stays as it is.
 * @throws ConfigError, or an Error for people when NODE_ENV is production
 */
export async function readSettings(env: NodeJS.ProcessEnv): Promise<StackSettings> {
  if (env['NODE_ENV'] === 'production') {
    throw new Error(
      'npm start is for development: its clients and secrets are public. It refuses NODE_ENV=production.',
    );
  }
  const { config, origins } = await loadConfig({ env });
  const [firstEngine] = config['conductor.url'];
  const givenEngine = origins['conductor.url'] === undefined ? undefined : firstEngine;
  const givenIssuer = origins['oauth.issuer'] === undefined ? undefined : config['oauth.issuer'];
  const isGiven = { 'conductor.url': givenEngine !== undefined, 'oauth.issuer': givenIssuer !== undefined };
  const ports = await Promise.all(
    stackPorts.map(async (entry) => ({ ...entry, port: config[entry.key] || (await findFreePort()) })),
  );
  const [router, operations, engine, provider, backEnds] = ports.map(({ port }) => `http://127.0.0.1:${port}`);
  const own = { router, operations, engine, identityProvider: provider, backEnds } as StackUrls;
  const urls = { ...own, engine: givenEngine ?? own.engine, identityProvider: givenIssuer ?? own.identityProvider };
  const following = followingKeys(urls);
  const stateDir = resolve(config['state.dir']);
  const isOurs = (key: string) => origins[key] === undefined || origins[key] === 'config/default.properties';
  return {
    stateDir,
    givenEngine,
    givenIssuer,
    workersClient: config['workers.clientId'] ?? String(following['workers.clientId']),
    urls,
    updateQueue: config['mdm.updateQueue'] ? queueEnvironment(env) : undefined,
    ports: ports.filter(({ unless }) => unless === undefined || !isGiven[unless]),
    env: {
      ...env,
      ...toVariables(Object.entries(following).filter(([key]) => isOurs(key))),
      // The engine of this stack keeps its data there, with Java and in a container.
      ...(givenEngine === undefined && isOurs('conductor.databaseURL')
        ? { CONDUCTOR_DATABASEURL: `sqlite:${join(stateDir, 'engine', 'conductor.db')}` }
        : {}),
      ...(givenIssuer === undefined ? { OAUTH_AUDIENCE: env['OAUTH_AUDIENCE'] ?? 'urn:service-router' } : {}),
      ...Object.fromEntries(ports.map(({ variable, port }) => [variable, String(port)])),
      STATE_DIR: stateDir,
    },
  };
}

function toVariables(values: readonly (readonly [key: string, value: string])[]): Record<string, string> {
  return Object.fromEntries(values.map(([key, value]) => [variableOf(key), value]));
}

/** Keys whose values follow from the ports, and the dev clients of the identity provider. */
function followingKeys({ router, engine, identityProvider, backEnds }: StackUrls): Record<string, string> {
  return {
    'conductor.url': engine,
    'conductor.apiURL': `${router}/conductor/api`,
    'oauth.issuer': identityProvider,
    'adaptor.001.url': `${backEnds}/adaptors/001`,
    'adaptor.002.url': `${backEnds}/adaptors/002`,
    'lmsDW.url': `${backEnds}/lms-dw`,
    'movies.url': `${backEnds}/movies`,
    'mdm.url': `${backEnds}/mdm`,
    'workers.clientId': 'worker',
    'workers.clientSecret': 'worker-secret',
    'ops.clientId': 'ops',
    'ops.clientSecret': 'ops-secret',
  };
}
