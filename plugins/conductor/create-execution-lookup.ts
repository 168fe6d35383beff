// Creates the execution API (which searches either the engine's index or the records in Redis) and the recorder of
// these records.

import type { Engine } from '#lib/conductor/engine.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { IndexPresence } from '#lib/conductor/executions/index-presence.ts';
import type { SendRequest } from '#lib/conductor/send-call.ts';
import { createExecutionApi, recordsOf } from '#lib/records/chosen-index.ts';
import { createRecorder, type ExecutionRecorder } from '#lib/records/recorder.ts';
import { outageNotice } from '#lib/redis/connect-redis.ts';
import type { SharedServices } from '../../gateway/plugin-api/plugin-api.ts';

/** The execution API and the recorder of executions. */
export interface ExecutionLookup {
  readonly recorder: ExecutionRecorder;
  /** Returns a client of the execution API that sends its calls through an engine connection. */
  apiOf(connection: { request: SendRequest }): ExecutionApi;
}

/** Timeout for asking the engine whether it has an index, in milliseconds. */
const askTimeoutMs = 2_000;
/** Pause before the engine is asked again after it has not responded, in milliseconds. */
const askAgainMs = 500;

/** Describes what does not work when there is neither an index nor records. */
const consequence =
  'the engine has no index of executions and redis.url is not set: requests with an Idempotency-Key are refused, redelivered MDM updates and the updates queued after them are held back, and the reconciler, the prune job and searches of the CLI do not work. Set redis.url, or use an engine with an index';

/** Describes what does not work when there is no index and Redis does not respond. */
const effectOfOutage =
  'writes are refused, because the records of executions are in Redis when the engine has no index';

/**
 * Creates the lookup. The router asks the engine in the background whether it has an index. A missing index is logged
 * once.
 * @param engine connection through which the engine is asked
 */
export function createExecutionLookup(
  { config, redis, log, ...services }: SharedServices,
  engine: Engine,
): ExecutionLookup {
  const presence = new IndexPresence((request) => engine.request({ timeoutMs: askTimeoutMs, ...request }));
  const source = recordsOf({ redis, config, metrics: services.metrics, log });
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const ask = async () => {
    const hasIndex = await presence.exists().catch(() => undefined);
    if (isStopped || hasIndex === true) return;
    if (hasIndex === undefined) timer = setTimeout(() => void ask(), askAgainMs).unref();
    else if (redis === undefined) log.warn(consequence);
    else log.info('the engine has no index of executions: using records in Redis instead');
  };
  void ask();
  services.onStop('index check', () => {
    isStopped = true;
    clearTimeout(timer);
  });
  const outage = redis === undefined ? () => [consequence] : outageNotice(redis, effectOfOutage);
  services.addReadinessNotice('executions', () => (presence.known === false ? outage() : []));
  return {
    recorder: createRecorder(source.records, presence),
    apiOf: (connection) => createExecutionApi({ call: (request) => connection.request(request), presence, ...source }),
  };
}
