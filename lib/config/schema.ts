// The schema of the configuration: every key with its type, unit, default and meaning.

import { type Static, Type } from '#lib/json/json-schema.ts';
import {
  backEndUrl,
  count,
  list,
  milliseconds,
  millisecondsOrOff,
  optionalCount,
  origins,
  percent,
  port,
  seconds,
  secret,
  taskDomain,
  text,
  url,
  withDefault,
} from './key-types.ts';
import { namedKeys } from './named-keys.ts';
import { oauth } from './oauth-keys.ts';
import { router } from './router-keys.ts';
import { prune } from './prune-keys.ts';

const conductor = {
  'conductor.url': origins(
    'addresses of the engine for the router and the CLI, one for each of its servers, without a path',
    ['http://127.0.0.1:8082'],
  ),
  'conductor.port': port('port of the embedded engine', 8082),
  'conductor.apiURL': withDefault(
    url("address of the engine's API on the router, for workers"),
    'http://127.0.0.1:8080/conductor/api',
  ),
  'conductor.timeoutMs': milliseconds('deadline of one call to the engine', 10_000),
  'conductor.uiURL': url("the engine's UI, to which the pages of executions link; no links when absent"),
  'conductor.connections': count(
    'limit on connections from the router to each server of the engine, for the requests of clients and workers',
    64,
  ),
  'conductor.maxHeldPollMs': milliseconds(
    "longest time that a worker's poll is held; a fetch in flight can add up to 5 seconds",
    60_000,
  ),
  'conductor.databaseURL': Type.String({
    format: 'engine-database-url',
    secret: true,
    description:
      "the engine's database, for data that its API does not provide: `sqlite:<file>` or `postgresql://user:password@host:port/database`; read by `prune`, `events` and the prune job; when absent, event records and index rows without an execution are not pruned",
  }),
  'conductor.directDispatch': withDefault(
    Type.Boolean({
      description:
        'direct dispatch: the router gives the task of a read to a worker whose poll it holds, without polling the engine; set to `false` if several routers share the task queues without `redis.url`',
    }),
    true,
  ),
};

const admission = {
  'admission.minLimit': count('lower bound of the adaptive limit on client executions that wait for a worker', 8),
  'admission.initialLimit': count('initial value of the adaptive limit', 32),
  'admission.maxLimit': count('upper bound of the adaptive limit', 64),
  'admission.maxInFlight': count('limit on client executions in flight, including those at a worker', 512),
  'admission.queueLength': count('length of the admission queue, in requests', 192),
  'admission.queueMs': milliseconds('longest wait in the admission queue', 5_000),
  'admission.backEndSharePercent': percent('largest share of the limits and the queue that one back end may use', 67),
  'breaker.engine.windowMs': milliseconds('circuit breaker of the engine: window in which starts count', 10_000),
  'breaker.engine.minCalls': count('minimum number of starts in the window before the circuit breaker opens', 20),
  'breaker.engine.failurePercent': percent('share of failed starts at which the circuit breaker opens', 50),
  'breaker.engine.openMs': milliseconds(
    "how long the circuit breaker stays open before the engine's health is checked",
    2_000,
  ),
  'breaker.backEnd.windowMs': milliseconds('circuit breaker of each back end: window in which outcomes count', 30_000),
  'breaker.backEnd.minCalls': count('minimum number of outcomes in the window before the circuit breaker opens', 10),
  'breaker.backEnd.failurePercent': percent(
    'the circuit breaker opens when this share of requests gets no response',
    50,
  ),
  'breaker.backEnd.openMs': milliseconds('how long the circuit breaker stays open before a probe', 4_000),
};

const backEnds = {
  'adaptor.url': backEndUrl('default college adaptor, for MIS codes without their own address; none when absent'),
  'adaptor.workflowVersion': count('version of `college-adaptorWF` to start', 2),
  'lmsDW.url': backEndUrl(
    'learning-management data warehouse: the back end `lms-dw`, unless `backEnd.lms-dw.url` is set',
  ),
  'movies.url': backEndUrl('movies prototype: the back end `movies`, unless `backEnd.movies.url` is set'),
  'mdm.url': backEndUrl('master data management'),
  'mdm.updateQueueURL': Type.String({
    format: 'amqp-url',
    secret: true,
    description:
      '`amqps://user:password@host:port/vhost` or `amqp://…`: RabbitMQ to which MDM publishes its own updates; none when absent',
  }),
  'mdm.retryWindowSeconds': seconds(
    'how long an undelivered notification or share is retried, from when a worker first receives it',
    86_400,
  ),
  'mdm.retryMaxDelaySeconds': seconds('longest pause between two attempts', 300),
};

const reconciler = {
  'reconciler.intervalMs': millisecondsOrOff('interval between starts of reconcile rounds; 0 = off', 30_000),
  'reconciler.afterMs': milliseconds('how long the reconciler waits for the engine to notify MDM', 60_000),
  'reconciler.lookBackSeconds': seconds(
    'how far back a router searches for missing notifications when it begins to reconcile',
    86_400,
  ),
};

const workers = {
  'workers.clientId': text('OAuth client of the workers'),
  'workers.clientSecret': secret('secret of `workers.clientId`'),
  'workers.domain': taskDomain(
    'Conductor task domain whose tasks the workers poll; for workers co-located with an adaptor, the MIS code of its college; default pool when absent',
  ),
  'workers.taskTypes': list(
    'task types that this process runs; when empty, all task types of its pool; with `workers.domain`, the task types of plain back ends (without worker code of their own) run only if they are named here',
    [],
  ),
  'workers.concurrency': count('concurrent tasks of one type', 8),
  'workers.pollTimeoutMs': milliseconds('how long one poll waits for a task', 5_000),
  'workers.backEndTimeoutMs': milliseconds('deadline of one call to a back end', 20_000),
  'workers.drainMs': milliseconds('deadline for in-flight tasks after SIGTERM', 25_000),
};

/** One encryption key: `<key id>:<32 bytes in base64>`. */
const payloadKey = (description?: string) =>
  Type.String({ format: 'payload-key', secret: true, ...(description === undefined ? {} : { description }) });

const payload = {
  'payload.key': payloadKey(
    'key that encrypts requests and responses inside the engine (AES-256-GCM): `<key id>:<32 bytes in base64>`; no encryption when absent',
  ),
  'payload.decryptionKeys': withDefault(
    Type.Array(payloadKey(), {
      description: 'further keys that only decrypt: previous keys and the next one (comma-separated)',
      secret: true,
    }),
    [],
  ),
};

const operations = {
  'ops.clientId': text('OAuth client of the CLI for calls through the router'),
  'ops.clientSecret': secret('secret of `ops.clientId`'),
  'redis.url': Type.String({
    format: 'redis-url',
    secret: true,
    description:
      'Redis, through which router instances share wake-ups, locks of `Idempotency-Key`s, the limits (when `limits.store` is `redis`) and the records of executions (for an engine without an index); none when absent',
  }),
  'records.keyPrefix': withDefault(
    text(
      'prefix of the Redis keys that hold the records of executions; does not separate the routers of different engines, because their locks, counters and channels have fixed names: each engine needs its own Redis server',
    ),
    'service-router:records:',
  ),
  'records.max': optionalCount(
    'limit on records of executions in `redis.url`; beyond it, the router drops the record of the execution that ended first (or, if none has ended, of the one that started first), and that execution is never pruned; no limit when absent',
  ),
  'limits.store': withDefault(
    Type.Enum(['memory', 'redis'], {
      description:
        'where the policies `rate-limit` and `in-flight` count: `memory` = in each router, `redis` = in `redis.url` for all routers',
    }),
    'memory',
  ),
  'limits.whenRedisIsAway': withDefault(
    Type.Enum(['count-alone', 'refuse'], {
      description:
        'during an outage of Redis, each router counts alone, or responds with 503 `limits-unavailable` to requests that it cannot count',
    }),
    'count-alone',
  ),
  'limits.rejectionDelayMs': millisecondsOrOff(
    'delay of the 429 responses of rate-limit and in-flight, so that an immediate retry has no advantage; 0 = no delay',
    100,
  ),
  'sentry.dsn': Type.String({
    format: 'http-url',
    secret: true,
    description: 'DSN to which errors are reported; Sentry is not loaded when absent',
  }),
  'sentry.environment': withDefault(text('environment name in error reports'), 'production'),
  'otel.exporter.otlp.endpoint': url(
    'endpoint to which traces are sent (OTLP over HTTP, path `/v1/traces`); OpenTelemetry is not loaded when absent',
  ),
  'otel.exporter.otlp.headers': withDefault(
    Type.Array(Type.String({ minLength: 3, secret: true }), {
      description:
        'header fields of the requests that send traces, each `name=value` with a percent-encoded value (comma-separated)',
      secret: true,
    }),
    [],
  ),
  'otel.samplePercent': percent('sampled share of the traces that this product starts', 100),
  'config.url': list('remote property files (http, https or file), read after `config/default.properties`', []),
  'config.timeoutMs': milliseconds('deadline of one fetch of a remote property file', 3_000),
  'config.lastKnownGoodDir': text(
    'directory of the last known good copies of remote files, used when a file cannot be fetched at startup; off when absent',
  ),
  'production.accepts': withDefault(
    Type.Array(Type.Enum(['http-issuer', 'http-config', 'open-engine']), {
      description:
        'accepted deviations from the production profile: `http-issuer`, `http-config`, `open-engine` (comma-separated)',
    }),
    [],
  ),
  profile: Type.String({
    pattern: '^[A-Za-z0-9_-]+$',
    description: 'name of the profile; its settings are read from `config/<profile>.properties` or `.env.<profile>`',
  }),
  'state.dir': withDefault(text('where the embedded stack keeps its state'), '.run'),
  'idp.port': port('embedded identity provider', 8083),
  'backends.port': port('embedded back-end stand-ins', 8084),
  'backends.host': withDefault(text('address the back-end stand-ins bind to'), '127.0.0.1'),
};

const keys = {
  ...router,
  ...conductor,
  ...admission,
  ...oauth,
  ...backEnds,
  ...reconciler,
  ...prune,
  ...workers,
  ...payload,
  ...operations,
};

/** Keys without a default are optional. A program that needs such a key lists it in `loadConfig({ required })`. */
const properties = Object.fromEntries(
  Object.entries(keys).map(([key, type]) => [key, 'default' in type ? type : Type.Optional(type)]),
);

/** JSON schema of the whole configuration, for the loader. */
export const configSchema = {
  ...Type.Object(properties),
  additionalProperties: false,
  patternProperties: namedKeys,
};

type Keys = typeof keys;
type WithDefault = { [K in keyof Keys]: Keys[K] extends { default: unknown } ? K : never }[keyof Keys];

/** A validated, frozen configuration with dotted keys. Keys without a default may be undefined. */
export type Config = { readonly [K in keyof Keys]: Static<Keys[K]> | (K extends WithDefault ? never : undefined) } & {
  readonly [key: `adaptor.${string}.url` | `adaptor.${string}.domain`]: string | undefined;
  readonly [key: `backEnd.${string}.url`]: string | undefined;
  readonly [key: `prune.${string}.days`]: number | undefined;
  readonly [key: `client.${string}.${'misCodes' | 'taskTypes' | 'domains'}`]: readonly string[] | undefined;
  readonly [key: `client.${string}.${'requestsPerSecond' | 'maxInFlight'}`]: number | undefined;
};

/** A configuration key with a fixed name. */
export type ConfigKey = keyof Keys;
