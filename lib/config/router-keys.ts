// Configuration keys of the router's ports: addresses, timeouts, sizes and forwarded header fields.

import { Type } from '#lib/json/json-schema.ts';
import {
  bytes,
  count,
  list,
  milliseconds,
  millisecondsOrOff,
  optionalCount,
  port,
  text,
  withDefault,
} from './key-types.ts';

/**
 * The keys of the public port (`router.…`: address, TLS, timeouts, sizes, forwarded header fields), of the operations
 * port, of reloads and of the log level.
 */
export const router = {
  'router.host': withDefault(text('address the public port binds to'), '127.0.0.1'),
  'router.port': port('public port', 8080),
  'router.gatewayConfigFile': withDefault(
    text("gateway configuration with paths, pipelines and policies; a relative path starts at the gateway's folder"),
    'gateway.config.yml',
  ),
  'router.tlsCertificateFile': text(
    'PEM file with the certificate chain of the public port; with certificate and key, the port serves HTTPS',
  ),
  'router.tlsKeyFile': text('PEM file with the private key of the certificate'),
  'router.responseDeadlineMs': milliseconds(
    'response deadline: how long a request waits for its workflow, unless its route sets another',
    25_000,
  ),
  'router.maxWaitMs': milliseconds('longest wait that a client may request with `Prefer: wait`', 60_000),
  'router.maxLongPolls': count(
    'maximum number of waiting requests at `/executions`; one client may use at most half of it; further requests get a response without waiting',
    256,
  ),
  'router.rateLimitPerSecond': count(
    'requests per second of each client on each route, counted in each router or across all routers (limits.store)',
    1_000,
  ),
  'router.trustedProxies': withDefault(
    Type.Array(Type.String({ format: 'network' }), {
      description: 'addresses and networks of proxies whose `X-Forwarded-For` is trusted (comma-separated)',
    }),
    [],
  ),
  'router.maxConnections': count(
    'limit on connections to the public port; above the limit, the router closes the connection that has waited longest for its client',
    4_000,
  ),
  'router.maxConnectionsPerAddress': optionalCount(
    'limit on connections from one address, except for trusted proxies; no limit per address when absent',
  ),
  'router.headersTimeoutMs': milliseconds(
    'deadline for the TLS handshake, and for the arrival of the request headers',
    10_000,
  ),
  'router.requestTimeoutMs': milliseconds('deadline for the arrival of a whole request', 30_000),
  'router.keepAliveTimeoutMs': milliseconds('how long an idle connection is kept open', 65_000),
  'router.responseSendTimeoutMs': milliseconds('deadline for a client to read a response', 30_000),
  'router.shutdownDelayMs': millisecondsOrOff(
    'how long the router continues to accept requests after SIGTERM, while readiness fails, so that load balancers notice',
    0,
  ),
  'router.drainMs': milliseconds('deadline for requests in flight after SIGTERM', 30_000),
  'router.maxBodyBytes': bytes('largest request body', 262_144),
  'router.maxResponseBytes': bytes('largest response from a back end', 8_388_608),
  'router.resultBytes': optionalCount(
    'limit on the total size of large task results (over 64 KiB each) that are read from workers concurrently; further ones wait; 1/32 of the heap when absent (bytes)',
  ),
  'router.requestHeaders': list('request headers passed to back ends besides the built-in allow-list', []),
  'router.responseHeaders': list('back-end headers passed to clients besides the built-in allow-list', []),
  'router.timingScope': text(
    'scope that a client needs to get `Server-Timing` with each response of an execution; when absent, no client gets this header',
  ),
  'router.versionScope': text(
    'scope that a client needs to choose a workflow version with `X-Workflow-Version`; when absent, no client may choose one',
  ),
  'router.docs': withDefault(
    Type.Boolean({ description: 'serves the page `/docs`; it has no effect on the document `/openapi.json`' }),
    true,
  ),
  'ops.host': withDefault(text('address the operations port binds to'), '127.0.0.1'),
  'ops.hosts': list(
    'accepted `Host` names of the operations port, such as `router-a`, besides IP addresses and `localhost`',
    [],
  ),
  'ops.port': port('operations port: health and metrics; never public', 8081),
  'reload.watchMs': millisecondsOrOff(
    'how often `gateway.config.yml` and the local property files are checked for changes, which trigger a reload, and how often a reload is repeated while a remote file cannot be fetched; 0 = reload only on SIGHUP',
    0,
  ),
  'log.level': withDefault(
    Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      description: 'lines below this level are not written',
    }),
    'info',
  ),
};
