// Keys of the router's public port: addresses, time-outs, sizes and what passes to back ends.

import { Type } from 'typebox';
import { bytes, count, list, milliseconds, millisecondsOrOff, port, text, withDefault } from './key-types.ts';

export const router = {
  'router.host': withDefault(text('address the public port binds to'), '127.0.0.1'),
  'router.port': port('public port', 8080),
  'router.mapFile': withDefault(
    text("the map of paths, pipelines and policies; a relative path begins at the product's root"),
    'gateway.config.yml',
  ),
  'router.tlsCertificateFile': text(
    'PEM file: certificate of the public port and those up to the root; with it and the key, the port speaks HTTPS',
  ),
  'router.tlsKeyFile': text('PEM file: private key of the certificate'),
  'router.waitBudgetMs': milliseconds(
    'how long a client waits for its workflow, unless its route says otherwise',
    25_000,
  ),
  'router.maxWaitMs': milliseconds('longest wait that a client may ask for with `Prefer: wait`', 60_000),
  'router.maxLongPolls': count(
    'requests that may wait at /executions at once, half of them of one client; beyond it they are answered without a wait',
    256,
  ),
  'router.rateLimitPerSecond': count('requests a second that one client may make on one route, in one router', 1_000),
  'router.trustedProxies': withDefault(
    Type.Array(Type.String({ format: 'network' }), {
      description: 'addresses and networks whose X-Forwarded-For is believed (comma-separated)',
    }),
    [],
  ),
  'router.maxConnections': count(
    'connections to the public port at once; beyond it, the one that has waited for its client for longest is closed',
    4_000,
  ),
  'router.maxConnectionsPerAddress': Type.Integer({
    minimum: 1,
    description:
      "connections from one address at once, unless it is a trusted proxy's; no limit of their own when absent",
  }),
  'router.headersTimeoutMs': milliseconds('how long the header of a request may take to arrive', 10_000),
  'router.requestTimeoutMs': milliseconds('how long a whole request may take to arrive', 30_000),
  'router.keepAliveTimeoutMs': milliseconds('how long a connection may stay without a request', 65_000),
  'router.answerTimeoutMs': milliseconds('how long a client may take to read an answer that is ready', 30_000),
  'router.shutdownDelayMs': millisecondsOrOff(
    'how long SIGTERM leaves everything as it is, but for readiness: a load balancer has noticed by then',
    0,
  ),
  'router.drainMs': milliseconds('how long SIGTERM lets requests in flight finish', 30_000),
  'router.maxBodyBytes': bytes('largest request body', 262_144),
  'router.maxAnswerBytes': bytes('largest answer of a back end', 8_388_608),
  'router.resultBytes': Type.Integer({
    minimum: 1,
    description:
      'results of more than 64 KiB that are read from workers at a time, the rest waits; 1/32 of the heap when absent (bytes)',
  }),
  'router.requestHeaders': list('request headers passed to back ends besides the built-in allow-list', []),
  'router.responseHeaders': list('back-end headers passed to clients besides the built-in allow-list', []),
  'router.timingScope': text('scope whose clients get Server-Timing with each answer; nobody does when absent'),
  'router.versionScope': text(
    'scope whose clients may choose a workflow version with X-Workflow-Version; nobody may when absent',
  ),
  'router.docs': withDefault(
    Type.Boolean({ description: 'serves the page /docs; its document, /openapi.json, is there all the same' }),
    true,
  ),
  'ops.host': withDefault(text('address the operations port binds to'), '127.0.0.1'),
  'ops.hosts': list('host names that the operations port is asked by, besides IP addresses and localhost', []),
  'ops.port': port('operations port: health and metrics; never public', 8081),
  'reload.watchMs': millisecondsOrOff(
    'pause between two looks at gateway.config.yml and the local property files, which are loaded anew when they have changed; 0 = only SIGHUP does',
    0,
  ),
  'log.level': withDefault(
    Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      description: 'lines below this level are not written',
    }),
    'info',
  ),
};
