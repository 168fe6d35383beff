// The one schema of the product's configuration: every key with its type, unit, default and meaning.

import { type Static, Type } from 'typebox';
import {
  backEndUrl,
  clientCount,
  clientList,
  count,
  list,
  milliseconds,
  millisecondsOrOff,
  percent,
  port,
  seconds,
  secret,
  text,
  url,
  urls,
  withDefault,
} from './key-types.ts';
import { router } from './router-keys.ts';
import { prune } from './prune-keys.ts';

const conductor = {
  'conductor.url': urls('the engine itself, as the router and the CLI reach it: the address of each of its servers', [
    'http://127.0.0.1:8082',
  ]),
  'conductor.port': port('port of the embedded engine', 8082),
  'conductor.apiURL': withDefault(
    url("the engine's API behind the router, as workers reach it"),
    'http://127.0.0.1:8080/conductor/api',
  ),
  'conductor.timeoutMs': milliseconds('deadline of one call to the engine', 10_000),
  'conductor.uiURL': url("the engine's UI: the status page links each failed execution there; no link when absent"),
  'conductor.connections': count('connections the router keeps to each server of the engine', 64),
  'conductor.maxParkedPollMs': milliseconds("longest time a worker's poll is held", 60_000),
  'conductor.databaseURL': Type.String({
    format: 'engine-database-url',
    secret: true,
    description:
      "the engine's own database, for what its API does not offer: `sqlite:<file>` or `postgresql://…`; records of events stay when absent",
  }),
  'conductor.handOver': withDefault(
    Type.Boolean({
      description:
        'gives the task of a read to a parked poll without asking the engine for it; false where several routers share the queues (never with redis.url)',
    }),
    true,
  ),
};

const admission = {
  'admission.minLimit': count('executions of clients that wait for a worker: the adaptive limit never falls below', 8),
  'admission.initialLimit': count('the adaptive limit at the start', 32),
  'admission.maxLimit': count('the adaptive limit never rises above', 64),
  'admission.maxInFlight': count('executions of clients in flight, those with a worker included', 512),
  'admission.queueLength': count('requests that may wait for a place below the limits', 192),
  'admission.queueMs': milliseconds('longest wait for a place', 5_000),
  'admission.backEndSharePercent': percent('most of limits and queue that one back end may have', 67),
  'admission.reservedPercent': percent('part of limits and queue that reads leave to writes, and writes to reads', 20),
  'breaker.engine.windowMs': milliseconds('circuit breaker of the engine: starts that count', 10_000),
  'breaker.engine.minCalls': count('starts in the window below which it does not open', 20),
  'breaker.engine.failurePercent': percent('share of failed starts that opens it', 50),
  'breaker.engine.openMs': milliseconds("how long it stays open before the engine's health is asked", 2_000),
  'breaker.backEnd.windowMs': milliseconds('circuit breaker of each back end: answers that count', 30_000),
  'breaker.backEnd.minCalls': count('answers in the window below which it does not open', 10),
  'breaker.backEnd.failurePercent': percent('share of unanswered requests that opens it', 50),
  'breaker.backEnd.openMs': milliseconds('how long it stays open before a probe', 4_000),
};

const oauth = {
  'oauth.issuer': url('the `iss` every access token must carry; keys and endpoints are discovered from it'),
  'oauth.audience': text('the `aud` every access token must carry; not checked when absent'),
  'oauth.jwksURL': url("the identity provider's key set; default: discovered from the issuer"),
  'oauth.tokenURL': url("the identity provider's token endpoint; default: discovered from the issuer"),
  'oauth.tokenResource': text('`resource` (RFC 8707) of every token request; not sent when absent'),
  'oauth.tokenAudience': text('`audience` of every token request, as some providers ask; not sent when absent'),
  'oauth.introspectionURL': url('token introspection (RFC 7662) for opaque tokens; off when absent'),
  'oauth.introspectionClientId': text('client the router introspects as'),
  'oauth.introspectionClientSecret': secret('secret of oauth.introspectionClientId'),
  'oauth.algorithms': list('signature algorithms accepted (RFC 7518 names; asymmetric only)', [
    'RS256',
    'PS256',
    'ES256',
  ]),
  'oauth.acceptedTypes': list(
    '`typ` headers of access tokens (RFC 9068); add JWT, or absent for none, when the identity provider needs it',
    ['at+jwt'],
  ),
  'oauth.clientIdClaims': list('claims that may name the client of a token, in order', ['client_id', 'azp']),
  'oauth.maxTokenSeconds': seconds('longest life of an access token that is accepted', 86_400),
  'oauth.clockToleranceSeconds': seconds('leeway for exp and nbf', 5),
  'oauth.jwksCacheSeconds': seconds('how long keys are used before they are fetched again', 300),
  'oauth.timeoutMs': milliseconds('deadline of one call to the identity provider', 5_000),
};

const backEnds = {
  'adaptor.url': backEndUrl('college adaptor of every MIS code that has no address of its own; none when absent'),
  'adaptor.workflowVersion': count('version of college-adaptorWF that is started', 2),
  'lmsDW.url': backEndUrl('learning-management data warehouse'),
  'movies.url': backEndUrl('movies prototype'),
  'mdm.url': backEndUrl('master data management'),
  'mdm.updateQueue': withDefault(
    Type.Boolean({
      description:
        'MDM also publishes updates to RabbitMQ: `register` and `apply` make the handlers of its queues active. The engine needs lib/conductor/server/amqp.properties before',
    }),
    false,
  ),
  'mdm.retryWindowSeconds': seconds('how long an undelivered notification or share is retried', 86_400),
  'mdm.retryMaxDelaySeconds': seconds('longest pause between two tries', 300),
};

const reconciler = {
  'reconciler.intervalMs': millisecondsOrOff('pause between two rounds of the reconciler; 0 = off', 30_000),
  'reconciler.afterMs': milliseconds('how long the engine gets to tell MDM by itself', 60_000),
  'reconciler.lookBackSeconds': seconds('how far back a router that starts looks for what was not told', 86_400),
};

const workers = {
  'workers.clientId': text('OAuth client the workers poll as'),
  'workers.clientSecret': secret('secret of workers.clientId'),
  'workers.domain': text(
    'Conductor task domain of workers co-located with an adaptor: its MIS code; default pool when absent',
  ),
  'workers.taskTypes': list('task types this process works on; all when empty', []),
  'workers.concurrency': count('tasks of one type worked on at once', 8),
  'workers.pollTimeoutMs': milliseconds('how long one poll waits for a task', 5_000),
  'workers.backEndTimeoutMs': milliseconds('deadline of one call to a back end', 20_000),
  'workers.drainMs': milliseconds('how long SIGTERM lets tasks in hand finish', 25_000),
};

/** One item of secret material: `<key id>:<32 bytes in base64>`. */
const payloadKey = (description?: string) =>
  Type.String({ format: 'payload-key', secret: true, ...(description === undefined ? {} : { description }) });

const payload = {
  'payload.key': payloadKey(
    'encrypts requests and answers inside the engine (AES-256-GCM): `<key id>:<32 bytes in base64>`; they are in clear when absent',
  ),
  'payload.decryptionKeys': withDefault(
    Type.Array(payloadKey(), {
      description: 'further keys that only decrypt, older ones and the next one (comma-separated)',
      secret: true,
    }),
    [],
  ),
};

const operations = {
  'ops.clientId': text('OAuth client the CLI uses when it goes through the router'),
  'ops.clientSecret': secret('secret of ops.clientId'),
  'redis.url': Type.String({
    format: 'redis-url',
    secret: true,
    description:
      'Redis that carries wake-ups and claims of Idempotency-Keys between router instances, and limits with limits.store; none when absent',
  }),
  'limits.store': withDefault(
    Type.Enum(['memory', 'redis'], {
      description: 'where rate-limit and in-flight count: each router for itself, or all in redis.url',
    }),
    'memory',
  ),
  'limits.whenRedisIsAway': withDefault(
    Type.Enum(['count-alone', 'refuse'], {
      description: 'each router counts for itself meanwhile, or refuses with 503 what it cannot count',
    }),
    'count-alone',
  ),
  'limits.refusalHoldMs': millisecondsOrOff(
    'how late 429 leaves, so that asking again at once gains nothing; 0 = at once',
    100,
  ),
  'sentry.dsn': Type.String({
    format: 'http-url',
    secret: true,
    description: 'errors are reported there; Sentry is not loaded when absent',
  }),
  'sentry.environment': withDefault(text('environment name in error reports'), 'production'),
  'otel.exporter.otlp.endpoint': url(
    'traces are sent there by OTLP over HTTP, to its path /v1/traces; OpenTelemetry is not loaded when absent',
  ),
  'otel.exporter.otlp.headers': withDefault(
    Type.Array(Type.String({ minLength: 3, secret: true }), {
      description: 'header fields sent with them, each name=value with the value percent-encoded (comma-separated)',
      secret: true,
    }),
    [],
  ),
  'otel.samplePercent': percent('part of the traces that begin here which is sent', 100),
  'config.url': list('remote property files (http, https or file), read after config/default.properties', []),
  'config.timeoutMs': milliseconds('deadline of one fetch of a remote property file', 3_000),
  'config.lastKnownGoodDir': text(
    'directory that keeps a copy of each remote file, used when it cannot be fetched; off when absent',
  ),
  'production.accepts': withDefault(
    Type.Array(Type.Enum(['http-issuer', 'http-config', 'open-engine']), {
      description: 'what the production profile would refuse: http-issuer, http-config, open-engine (comma-separated)',
    }),
    [],
  ),
  profile: Type.String({
    pattern: '^[A-Za-z0-9_-]+$',
    description: 'reads config/<profile>.properties or .env.<profile>',
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

/** Keys without a default are optional: whoever needs one names it in `loadConfig({ required })`. */
const properties = Object.fromEntries(
  Object.entries(keys).map(([key, type]) => [key, 'default' in type ? type : Type.Optional(type)]),
);

/** JSON Schema of the whole configuration, as the loader validates it. */
export const configSchema = {
  ...Type.Object(properties),
  additionalProperties: false,
  patternProperties: {
    // One college adaptor by its MIS code.
    '^adaptor\\.[0-9A-Za-z]{1,8}\\.url$': backEndUrl('college adaptor of this MIS code'),
    '^adaptor\\.[0-9A-Za-z]{1,8}\\.domain$': text(
      'task domain whose workers serve this MIS code; default pool when absent',
    ),
    // One route by the name of its apiEndpoint.
    '^prune\\.[A-Za-z][\\w-]{0,63}\\.days$': Type.Integer({
      minimum: 1,
      description: 'how long executions of this route are kept, however they ended (days)',
    }),
    // One OAuth client by its id. An empty list allows nothing.
    '^client\\.[!-~]{1,256}\\.misCodes$': clientList('the only MIS codes that this client may name; all when absent'),
    '^client\\.[!-~]{1,256}\\.requestsPerSecond$': clientCount(
      'requests a second on one route that this client may make, in place of what the map says',
    ),
    '^client\\.[!-~]{1,256}\\.maxInFlight$': clientCount(
      'requests at a time that this client may have on all routes; what the map says when absent',
    ),
    '^client\\.[!-~]{1,256}\\.taskTypes$': clientList('the only task types this client may work on; all when absent'),
    '^client\\.[!-~]{1,256}\\.domains$': clientList(
      'the only task domains this client may work in, NO_DOMAIN = the default pool; all when absent',
    ),
  },
};

type Keys = typeof keys;
type WithDefault = { [K in keyof Keys]: Keys[K] extends { default: unknown } ? K : never }[keyof Keys];

/** A checked, frozen configuration, read by its dotted keys. Keys without a default may be undefined. */
export type Config = { readonly [K in keyof Keys]: Static<Keys[K]> | (K extends WithDefault ? never : undefined) } & {
  readonly [key: `adaptor.${string}.url` | `adaptor.${string}.domain`]: string | undefined;
  readonly [key: `prune.${string}.days`]: number | undefined;
  readonly [key: `client.${string}.${'misCodes' | 'taskTypes' | 'domains'}`]: readonly string[] | undefined;
  readonly [key: `client.${string}.${'requestsPerSecond' | 'maxInFlight'}`]: number | undefined;
};

/** A key of the configuration that has a fixed name. */
export type ConfigKey = keyof Keys;
