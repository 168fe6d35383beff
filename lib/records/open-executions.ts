// Opens the execution API for programs that have no Redis connection of their own: the CLI and the prune job.

import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { SendRequest } from '#lib/conductor/send-call.ts';
import type { Config } from '#lib/config/schema.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { createExecutionApi, createRecords } from './chosen-index.ts';
import { createDropReport } from './report-dropped.ts';

/** An open execution API. */
export interface OpenExecutions {
  readonly api: ExecutionApi;
  /** Closes the connection to Redis. */
  close(): Promise<void>;
}

/** Opens the execution API. Connects to Redis at the first search if the engine has no index. */
export async function openExecutions(call: SendRequest, config: Config, log: Logger): Promise<OpenExecutions> {
  const url = config['redis.url'];
  if (url === undefined) {
    return { api: createExecutionApi({ call, records: undefined }), close: async () => undefined };
  }
  const { Redis } = await import('#lib/redis/redis.ts');
  const redis = new Redis(url, log);
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
