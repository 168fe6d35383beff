// Opens the execution API for programs that have no Redis connection of their own: the CLI and the prune job.

import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { SendRequest } from '#lib/conductor/send-call.ts';
import type { Config } from '#lib/config/schema.ts';
import type { RedisOptions } from '#lib/redis/redis.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { createExecutionApi, createRecords } from './chosen-index.ts';
import { createDropReport } from './report-dropped.ts';

/** The execution API, with a method that closes its connection. */
export interface OpenExecutions {
  readonly api: ExecutionApi;
  /** Closes the connection to Redis. */
  close(): Promise<void>;
}

/** Options of {@link openExecutions}. */
export interface OpenExecutionsOptions extends RedisOptions {
  readonly log: Logger;
}

/**
 * Opens the execution API. Connects to Redis at the first search if the engine has no index.
 * @param options set `worksWhenFull` in programs that delete executions. In other programs, searches fail while Redis
 *   is full: the results would be incomplete, because Redis does not accept the records of running executions
 */
export async function openExecutions(
  call: SendRequest,
  config: Config,
  { log, ...options }: OpenExecutionsOptions,
): Promise<OpenExecutions> {
  const url = config['redis.url'];
  if (url === undefined) {
    return { api: createExecutionApi({ call, records: undefined }), close: async () => undefined };
  }
  const { Redis } = await import('#lib/redis/redis.ts');
  const redis = new Redis(url, log, options);
  let connected: Promise<void> | undefined;
  const connect = () => {
    redis.start();
    return redis.firstAttempt;
  };
  const records = createRecords(redis, config, createDropReport({ log }));
  return {
    api: createExecutionApi({ call, records, whenReady: () => (connected ??= connect()) }),
    close: () => redis.stop(),
  };
}
