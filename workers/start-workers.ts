// Creates the workers of one process and connects them to the router; drains them on stop.

import { hostname } from 'node:os';
import { ConfigError } from '#lib/config/load.ts';
import type { Config } from '#lib/config/schema.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import type { RunningProgram } from '#lib/process/run-program.ts';
import type { Tracer } from '#lib/telemetry/tracing/tracer.ts';
import type { WorkerRegistry } from './index.ts';
import { createBackEndCaller } from './back-end/call-back-end.ts';
import { guardWrites } from './back-end/guard-writes.ts';
import { pause } from './backoff.ts';
import { OutageLog } from './sdk/outage-log.ts';
import { RouterApi } from './sdk/router-api.ts';
import { createSdkClient } from './sdk/sdk-client.ts';
import { TaskExchange } from './sdk/task-exchange.ts';
import { startTaskRunners } from './sdk/task-runners.ts';
import { InFlightTasks } from './sdk/in-flight-tasks.ts';
import { withCallTelemetry } from './observe/observe-calls.ts';
import { withTaskTelemetry } from './observe/observe-task.ts';
import { type ReportError, supervise } from './run-task.ts';
import { type SelectedWorker, selectWorkers } from './select-workers.ts';
import { stayIdle } from './stay-idle.ts';
import type { Worker, WorkerDependencies } from './worker.ts';

/** Dependencies of the worker process. */
export interface StartWorkersOptions {
  /** The configuration, which must contain `workers.clientId` and `workers.clientSecret`. */
  config: Config;
  /**
   * The gateway's workers, as returned by `findWorkers`, without the generic workers for `backEnd.<name>.url`, which
   * the configuration adds. Default: the workers of the product.
   */
  workers?: WorkerRegistry;
  log: Logger;
  /** Called with unexpected errors, which are also logged. Default: none. */
  reportError?: ReportError;
  /** Creates spans; without it, tracing is off. */
  tracer?: Tracer | undefined;
}

/**
 * Starts polling. Router and engine need not be available yet. `stop` ends polling, finishes in-flight tasks and
 * reports their results, for at most `workers.drainMs`. If there is no task type to serve, the process logs a warning
 * and stays idle.
 * @throws ConfigError when a task type is unknown or not in this process's pool, a URL is missing, or a worker is for
 *   a different task type from the one it is registered for
 */
export async function startWorkers({
  config,
  workers: own,
  log,
  reportError = () => {},
  tracer,
}: StartWorkersOptions): Promise<RunningProgram> {
  const selected = selectWorkers(config, own);
  if (selected.length === 0) return stayIdle(log);
  const stopping = new AbortController();
  const abandoned = new AbortController();
  const backEnds = createBackEndCaller({
    timeoutMs: config['workers.backEndTimeoutMs'],
    maxResponseBytes: config['router.maxResponseBytes'],
  });
  const inFlightTasks = new InFlightTasks();
  const callBackEnd = withCallTelemetry(guardWrites(backEnds.call, (taskId) => inFlightTasks.hasExpired(taskId)));
  const workers = createWorkers(selected, { config, callBackEnd }).map((worker) =>
    withTaskTelemetry(supervise(worker, { log, reportError }), tracer),
  );
  const api = new RouterApi({
    apiURL: config['conductor.apiURL'],
    clientId: config['workers.clientId'] ?? '',
    clientSecret: config['workers.clientSecret'] ?? '',
    timeoutMs: config['conductor.timeoutMs'],
  });
  const identity = { workerId: `${hostname()}:${process.pid}`, domain: config['workers.domain'] };
  const concurrency = config['workers.concurrency'];
  const exchange = new TaskExchange({
    ...{ api, inFlightTasks, outageLog: new OutageLog(log), log, concurrency, ...identity },
    pollTimeoutMs: config['workers.pollTimeoutMs'],
    stopping: stopping.signal,
    abandoned: abandoned.signal,
  });
  const stopRunners = startTaskRunners({ workers, client: createSdkClient(exchange), concurrency, ...identity });

  const stop = async () => {
    stopping.abort();
    const drained = new AbortController();
    await Promise.race([inFlightTasks.waitUntilIdle(drained.signal), pause(config['workers.drainMs'], drained.signal)]);
    drained.abort();
    if (inFlightTasks.count > 0)
      log.error({ tasks: inFlightTasks.count }, 'stopped with in-flight tasks: not finished within workers.drainMs');
    await stopRunners();
    exchange.stop();
    abandoned.abort();
    backEnds.close();
    await api.close();
  };
  return { ready: { taskTypes: workers.map(({ taskDefName }) => taskDefName), ...identity }, stop };
}

/** Creates the workers. @throws ConfigError when a worker is for a different task type from the one it is registered for */
function createWorkers(selected: readonly SelectedWorker[], dependencies: WorkerDependencies): Worker[] {
  const created = selected.map(({ taskType, create }) => ({ taskType, worker: create(dependencies) }));
  const problems = created
    .filter(({ taskType, worker }) => worker.taskDefName !== taskType)
    .map(
      ({ taskType, worker }) =>
        `workers/index.ts: create of ${taskType} returns a worker with taskDefName ${JSON.stringify(worker.taskDefName)}, so no process would serve ${taskType}: return a worker with taskDefName "${taskType}"`,
    );
  if (problems.length > 0) throw new ConfigError(problems);
  return created.map(({ worker }) => worker);
}
