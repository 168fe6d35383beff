// Opens connections to the engine's API, directly or through the router with an OAuth client.

import type { Command } from 'commander';
import type { Config } from '#lib/config/schema.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { Engine, type EngineRequest, type EngineResponse } from '#lib/conductor/engine.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { MetadataApi } from '#lib/conductor/metadata/metadata-api.ts';
import type { SendRequest } from '#lib/conductor/send-call.ts';
import { openExecutions } from '#lib/records/open-executions.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { loadCommandConfig, type StackKey } from '../gateway/command-config.ts';
import { addDirOption, type FolderOptions } from '../gateway/gateway-folder.ts';
import type { Host } from '../host.ts';
import { CommandError } from '../outcome.ts';
import { parseBaseUrls } from './base-url.ts';
import { type CalledEngine, withOwnStores } from './configured-stores.ts';

/** The CLI options that select the engine and how it is reached. */
export interface EngineAccessOptions extends FolderOptions {
  /** Base URL of the engine, or of each of its servers, comma-separated. */
  readonly engine?: string;
  /** Base URL of the router, or true for the one in `conductor.apiURL`. Cannot be combined with `engine`. */
  readonly router?: string | true;
  readonly clientId?: string;
  readonly clientSecret?: string;
}

/**
 * Adds `--dir` and `--engine`, for commands whose calls the router does not forward. For calls that the router
 * forwards, use {@link addEngineOptions}.
 */
export function addEngineOption(command: Command): Command {
  return addDirOption(command).option(
    '--engine <url>',
    'base URL of the engine, or several, separated by commas (default: conductor.url, or the running stack)',
  );
}

/**
 * Adds `--dir`, `--engine`, `--router` and the client options of `--router`, for commands whose calls the router
 * forwards.
 */
export function addEngineOptions(command: Command): Command {
  return addEngineOption(command)
    .option(
      '--router [url]',
      'call the engine through the router at this base URL; without a URL, that of conductor.apiURL or of the running stack',
    )
    .option('--client-id <id>', 'OAuth client for --router (default: ops.clientId)')
    .option('--client-secret <secret>', 'its secret (default: ops.clientSecret)');
}

/** An open connection to an engine. */
export interface EngineAccess {
  /** The requested address, for messages. */
  readonly address: string;
  readonly api: MetadataApi;
  /** Finds executions through the engine's index, or through the routers' records in Redis. */
  readonly executions: ExecutionApi;
  /** Sends any request to the engine's API. The router forwards only some of them. */
  readonly call: SendRequest;
  readonly config: Config;
  close(): Promise<void>;
}

/** How a command uses the engine. */
export interface EngineUse {
  /**
   * Further configuration keys that the command uses. If the command uses the engine of a running stack, the stack
   * provides their values.
   */
  readonly keys?: readonly StackKey[];
  /**
   * True for a command that deletes executions: it must work even while the Redis that holds the records is full.
   * Default: false.
   */
  readonly worksWhenFull?: boolean;
}

/**
 * Loads the configuration and opens a connection to the engine. The address comes from the option, else from the
 * configuration, else from the running stack. The configured Redis and database are used only with the configured
 * engine.
 * @throws ConfigError; CommandError when an address or a client is missing or refused; EngineError when the router does
 *   not respond. An unreachable engine is detected by the first request.
 */
export async function openEngine(
  options: EngineAccessOptions,
  host: Pick<Host, 'env' | 'stderr'>,
  { keys = [], worksWhenFull = false }: EngineUse = {},
): Promise<EngineAccess> {
  const { router, engine } = options;
  if (router !== undefined && engine !== undefined) throw new CommandError(['use --engine or --router, not both']);
  const loaded = await loadCommandConfig(host, addressKeys(options, keys), options);
  const urls = router === undefined ? (engine?.split(',') ?? loaded['conductor.url']) : [routerUrlOf(router, loaded)];
  const base = parseBaseUrls(urls, router === undefined ? '' : '/conductor');
  const called = { ...base, configured: configuredOf(options, loaded), keys: ['redis.url', ...keys] } as const;
  const config = withOwnStores(loaded, called, host.stderr);
  const address = base.addresses.join(',');
  const client = new Engine({ url: base.origins, timeoutMs: config['conductor.timeoutMs'], connections: 4 });
  const send = (request: EngineRequest): Promise<EngineResponse> =>
    client.request({ ...request, path: `${base.prefix}${request.path}` }).catch((cause: EngineError) => {
      const { kind, message, isStarting } = cause;
      throw new EngineError(kind, `${address} does not respond: ${message}`, { cause, isStarting });
    });
  try {
    const token = router === undefined ? undefined : await fetchToken(send, clientOf(options, config));
    const headers: Record<string, string> = token === undefined ? {} : { 'x-authorization': token };
    const call: SendRequest = (request) => send({ ...request, headers: { ...headers, ...request.headers } });
    // Each search reports why it fails, so the connection to Redis does not have to log it.
    const executions = await openExecutions(call, config, { log: createLog('cli', 'silent'), worksWhenFull });
    return {
      address,
      api: new MetadataApi(call),
      executions: executions.api,
      call,
      config,
      close: async () => void (await Promise.all([executions.close(), client.close()])),
    };
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** Keys that say where the router keeps its records of executions. */
const recordKeys = ['redis.url', 'records.keyPrefix'] as const;

function addressKeys({ engine, router }: EngineAccessOptions, keys: readonly StackKey[]): readonly StackKey[] {
  if (router === undefined) return engine === undefined ? ['conductor.url', ...recordKeys, ...keys] : [];
  return router === true ? ['conductor.apiURL', ...recordKeys] : [];
}

/** Returns the addresses of the engine or router that the configured Redis and database belong to. */
function configuredOf({ router }: EngineAccessOptions, config: Config): CalledEngine['configured'] {
  if (router === undefined)
    return { what: 'engine', key: 'conductor.url', ...parseBaseUrls(config['conductor.url'], '') };
  return { what: 'router', key: 'conductor.apiURL', ...parseBaseUrls([routerUrlOf(true, config)], '') };
}

/** Returns the base URL of the router: the given one, or the one in `conductor.apiURL`, which the workers use. */
export function routerUrlOf(router: string | true, config: Config): string {
  return router === true ? config['conductor.apiURL'].replace(/\/conductor\/api\/?$/, '') : router;
}

interface Client {
  readonly id: string;
  readonly secret: string;
}

function clientOf({ clientId, clientSecret }: EngineAccessOptions, config: Config): Client {
  const id = clientId ?? config['ops.clientId'];
  const secret = clientSecret ?? config['ops.clientSecret'];
  if (id === undefined || secret === undefined) {
    throw new CommandError([
      '--router needs a client: set ops.clientId and ops.clientSecret (OPS_CLIENTID, OPS_CLIENTSECRET), or use --client-id and --client-secret',
    ]);
  }
  return { id, secret };
}

/** Exchanges a client's id and secret for a token, as Conductor's SDKs do. */
async function fetchToken(send: (request: EngineRequest) => Promise<EngineResponse>, client: Client): Promise<string> {
  const { status, body } = await send({
    method: 'POST',
    path: '/api/token',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ keyId: client.id, keySecret: client.secret }),
  });
  const { token, error, title } = readJson(body);
  if (status !== 200 || token === undefined) {
    throw new CommandError([
      `the router issued no token to client "${client.id}": ${status} ${error ?? title ?? ''}`.trimEnd(),
    ]);
  }
  return token;
}

function readJson(body: Buffer): { token?: string; error?: string; title?: string } {
  try {
    return (JSON.parse(body.toString('utf8')) as Record<string, string> | null) ?? {};
  } catch {
    return {};
  }
}
