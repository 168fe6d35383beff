// The engine-api policy: the engine's API for workers and operators, with held long polls and direct dispatch.

import type { Request, Response } from 'express';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { Config } from '#lib/config/schema.ts';
import type { Task, TaskResult } from '#lib/conductor/types.ts';
import { contextOf, definePolicy, type Policy } from '../../../gateway/plugin-api/plugin-api.ts';
import { announcedBytes, readBody, releaseBody } from '../../../gateway/plugin-api/read-body.ts';
import { signalWhenGone } from '../../../gateway/plugin-api/signal-when-gone.ts';
import { errorFields } from '#lib/telemetry/logging/log.ts';
import { Problem, toProblem } from '#lib/problem/problem.ts';
import { adminScope, type AllowedCall, findAllowedCall } from './allow-list.ts';
import { engineApiDeclaration } from './engine-api-declaration.ts';
import type { ExecutionDependencies } from '../execution/executions.ts';
import { engineUnavailable } from '../execution/engine-unavailable.ts';
import { shuttingDown } from '../execution/shutting-down.ts';
import type { QueueName } from '../dispatch/task-queues.ts';
import { engineTaskId } from '../dispatch/dispatched-task.ts';
import { type ResultBudget, smallResultBytes } from '../dispatch/result-budget.ts';
import { splitTarget } from '../execution/target.ts';
import { send, wholeNumber } from './respond.ts';
import { parseTaskResult } from './task-result.ts';
import { parseExchange } from './worker-exchange.ts';
import { checkPoll, problemOfPoll } from './worker-names.ts';
import type { TaskUpdates } from './task-updates.ts';
import type { WorkerLimits } from './worker-limits.ts';

/**
 * Ratio of the largest task result to the largest response. A result contains the response as base64 or escaped text.
 */
const resultOverhead = 2;
/** Timeout of a poll that does not specify one, in milliseconds; Conductor's default. */
const defaultPollMs = 100;

/** Dependencies of the policy. */
export interface EngineApiDependencies extends Pick<ExecutionDependencies, 'engine' | 'queues' | 'log'> {
  updates: TaskUpdates;
  /** Bounds the memory of large results. */
  results: ResultBudget;
  limits: WorkerLimits;
  /** True while workers get tasks. A draining router continues to deliver tasks as long as a client waits. */
  dispatchesTasks: () => boolean;
  /** Called when a task is sent to a worker. */
  handedOut: (task: Task) => void;
  /** Called when a worker reports a result. */
  reported: (result: TaskResult) => void;
  /** Returns a task with the trace context for its worker. */
  withTrace: (task: Task) => Task;
}

/**
 * Creates the policy `engine-api`, the last policy in its pipeline: Conductor's API for workers and operators.
 * @throws Problem `not-found`, `insufficient-scope`, `forbidden` or `engine-unavailable`
 */
export function createEngineApiPolicy(config: Config, dependencies: EngineApiDependencies): Policy {
  const api = new EngineApi(config, dependencies);
  return definePolicy(engineApiDeclaration, {
    create({ strip }) {
      const stripped = strip.split('/').length - 1;
      return async function callEngine(request, response) {
        const { path, query } = splitTarget(request.originalUrl, stripped);
        const call = chooseCall(request, path);
        const { clientId = '' } = contextOf(request);
        dependencies.limits.checkCall(clientId, call.scope === adminScope ? 'admin' : 'worker');
        const gone = signalWhenGone(response);
        try {
          await api[call.kind](call, { request, response, query: query ?? '', gone, clientId });
        } catch (error) {
          throw error instanceof EngineError ? engineUnavailable(error) : error;
        }
      };
    },
  });
}

/**
 * @throws Problem `not-found` for a call that is not allowed, `insufficient-scope` when the token lacks the scope of
 *   the call
 */
function chooseCall(request: Request, path: string): AllowedCall {
  const call = findAllowedCall(request.method, path);
  if (call === undefined) throw new Problem('not-found', { detail: 'This call is not open to workers or operators.' });
  if (contextOf(request).scopes?.has(call.scope)) return call;
  throw new Problem('insufficient-scope', {
    detail: `This call needs the scope ${call.scope}.`,
    headers: { 'www-authenticate': `Bearer realm="service-router", error="insufficient_scope", scope="${call.scope}"` },
  });
}

/** The request and response of one call. */
interface CallContext {
  request: Request;
  response: Response;
  query: string;
  clientId: string;
  /** Aborts when the caller disconnects. */
  gone: AbortSignal;
}

/** Handles calls; one method for each {@link AllowedCall.kind}. */
class EngineApi {
  readonly #config: Config;
  readonly #dependencies: EngineApiDependencies;

  constructor(config: Config, dependencies: EngineApiDependencies) {
    this.#config = config;
    this.#dependencies = dependencies;
  }

  async poll({ segments }: AllowedCall, context: CallContext): Promise<void> {
    const tasks = await this.#takeTasks(segments.at(-1) as string, context, { count: 1, timeoutMs: defaultPollMs });
    this.#sendTasks(context, tasks, ([task]) => task);
  }

  async 'batch-poll'({ segments }: AllowedCall, context: CallContext): Promise<void> {
    const query = new URLSearchParams(context.query);
    const count = wholeNumber(query.get('count'), 1);
    const requestedMs = wholeNumber(query.get('timeout'), defaultPollMs);
    const timeoutMs = Math.min(requestedMs, this.#config['conductor.maxHeldPollMs']);
    const tasks = await this.#takeTasks(segments.at(-1) as string, context, { count, timeoutMs });
    this.#sendTasks(context, tasks, (sent) => sent);
  }

  async update(_call: AllowedCall, context: CallContext): Promise<void> {
    const { response } = await this.#reportResult(context);
    send(context.response, response.status, {
      type: response.status === 200 ? 'text/plain' : 'application/json',
      body: response.body,
    });
  }

  /** Conductor's update-v2 call: the response to a result is the worker's next task, if one is already available. */
  async 'update-and-poll'(_call: AllowedCall, context: CallContext): Promise<void> {
    const { response, queue, result } = await this.#reportResult(context);
    if (response.status !== 200) {
      return send(context.response, response.status, { type: 'application/json', body: response.body });
    }
    const { queues, dispatchesTasks } = this.#dependencies;
    const mayTakeNext = queue !== undefined && dispatchesTasks();
    const next = mayTakeNext
      ? await queues.queue(queue).takeOne(result.workerId ?? undefined, context.gone)
      : undefined;
    this.#sendTasks(context, next === undefined ? [] : [next], ([task]) => task);
  }

  /**
   * The call that this product's workers use: reports results and, if all of them were accepted, waits for tasks from
   * several queues.
   */
  async exchange(_call: AllowedCall, context: CallContext): Promise<void> {
    const { queues, limits, dispatchesTasks } = this.#dependencies;
    const { exchange, statuses } = await this.#withBody(context, async (body) => {
      // The results are slices of the body. They are not kept, so that the body does not stay in memory while the
      // exchange waits for tasks.
      const { results, ...parsed } = parseExchange(body);
      return { exchange: parsed, statuses: await this.#reportAll(results, context) };
    });
    const isAccepted = statuses.every((status) => status === 200);
    if (!isAccepted)
      contextOf(context.request).reason = `not every result was accepted; statuses: ${statuses.join(', ')}`;
    // Results are reported even if the name of a queue is not valid, because nobody would report them again.
    const isValid = (name: QueueName) => problemOfPoll({ ...name, workerId: exchange.workerId }) === undefined;
    const sorted = limits.sortQueues(context.clientId, exchange.wanted);
    const allowed = statuses.length === 0 ? sorted.allowed : sorted.allowed.filter(isValid);
    const refused = exchange.wanted.filter((name) => !allowed.includes(name));
    if (statuses.length === 0) {
      for (const name of exchange.wanted) checkPoll({ ...name, workerId: exchange.workerId });
      if (!dispatchesTasks()) throw shuttingDown();
      const [first] = refused;
      if (first !== undefined && allowed.length === 0) limits.checkQueue(context.clientId, first);
    }
    const mayWait = isAccepted && allowed.length > 0 && dispatchesTasks();
    const timeoutMs = Math.min(exchange.timeoutMs, this.#config['conductor.maxHeldPollMs']);
    const poll = { workerId: exchange.workerId, timeoutMs, signal: context.gone };
    const tasks = mayWait ? await queues.poll(allowed, poll) : [];
    const isUnavailable = tasks.length === 0 && allowed.some((name) => queues.isFailing(name));
    this.#sendTasks(context, tasks, (sent) => ({
      tasks: sent,
      ...(isAccepted ? {} : { statuses }),
      ...(refused.length === 0 ? {} : { refused: refused.map(({ taskType }) => taskType) }),
      ...(isUnavailable ? { unavailable: true } : {}),
    }));
  }

  /** Writes a line to the log of a task. */
  async log(call: AllowedCall, context: CallContext): Promise<void> {
    const [, taskId = ''] = call.segments;
    await this.#dependencies.limits.checkTask(context.clientId, taskId);
    const segments = call.segments.with(1, await engineTaskId(this.#dependencies.engine, taskId));
    await this.forward({ ...call, segments }, context);
  }

  /** Forwards any other allowed call to the engine, with the path rebuilt from its validated segments. */
  async forward({ segments }: AllowedCall, { request, response, query, gone }: CallContext): Promise<void> {
    const body = await readBody(request, this.#config['router.maxResponseBytes']);
    const path = `/api/${segments.map((segment) => encodeURIComponent(segment)).join('/')}${query === '' ? '' : `?${query}`}`;
    const type = request.headers['content-type'];
    const engineResponse = await this.#dependencies.engine.request({
      method: request.method as 'GET' | 'POST' | 'PUT',
      path,
      headers: { accept: '*/*', ...(type === undefined ? {} : { 'content-type': type }) },
      ...(body.length === 0 ? {} : { body }),
      signal: gone,
    });
    const responseType = String(engineResponse.headers['content-type'] ?? 'application/octet-stream');
    send(response, engineResponse.status, { type: responseType, body: engineResponse.body });
  }

  /**
   * Holds a poll until there are tasks.
   * @throws Problem `shutting-down`, `forbidden`, `malformed-request`, `engine-unavailable`
   */
  async #takeTasks(
    taskType: string,
    { query, gone, clientId }: CallContext,
    poll: { count: number; timeoutMs: number },
  ): Promise<Task[]> {
    const { queues, limits, dispatchesTasks } = this.#dependencies;
    if (!dispatchesTasks()) throw shuttingDown();
    const search = new URLSearchParams(query);
    const name = { taskType, domain: search.get('domain') || undefined };
    const workerId = search.get('workerid') ?? undefined;
    limits.checkQueue(clientId, name);
    checkPoll({ ...name, workerId });
    if (poll.count === 0) return [];
    const tasks = await queues.poll([{ ...name, count: poll.count }], { ...poll, workerId, signal: gone });
    if (tasks.length === 0 && queues.isFailing(name)) throw engineUnavailable();
    return tasks;
  }

  /** Sends tasks to a worker. If the response is not sent completely, the tasks go to the next worker. */
  #sendTasks({ response }: CallContext, tasks: readonly Task[], toBody: (sent: Task[]) => unknown): void {
    const { queues, updates, withTrace } = this.#dependencies;
    const giveBack = () => {
      for (const task of tasks) queues.queue({ taskType: task.taskDefName, domain: task.domain }).giveBack([task]);
    };
    if (response.destroyed) return giveBack();
    updates.remember(tasks);
    for (const task of tasks) this.#dependencies.handedOut(task);
    if (tasks.length > 0) {
      response.once('close', () => {
        if (!response.writableFinished) giveBack();
      });
    }
    const body = toBody(tasks.map(withTrace));
    if (body === undefined) response.writeHead(204).end();
    else send(response, 200, { type: 'application/json', body: JSON.stringify(body) });
  }

  /** Reads a result and reports it to the engine. */
  #reportResult(context: CallContext) {
    return this.#withBody(context, (body) => this.#report(body, context));
  }

  /** Validates a result and reports it to the engine. @throws Problem, EngineError */
  async #report(body: Buffer, { clientId }: CallContext) {
    const { limits, updates, reported } = this.#dependencies;
    const result = parseTaskResult(body);
    await limits.checkTask(clientId, result.taskId, result.workflowInstanceId);
    reported(result);
    return { result, ...(await updates.update(result, body)) };
  }

  /** Reports results concurrently. @returns the status of each result, as a separate call would return it */
  async #reportAll(results: readonly Buffer[], context: CallContext): Promise<number[]> {
    const statusOf = (result: Buffer) =>
      this.#report(result, context).then(
        ({ response }) => response.status,
        (error: unknown) => {
          if (error instanceof EngineError) return engineUnavailable().status;
          if (!(error instanceof Problem))
            this.#dependencies.log.error(errorFields(error), 'could not report a result to the engine');
          return toProblem(error).status;
        },
      );
    return Promise.all(results.map(statusOf));
  }

  /**
   * Reads the body of a call with results and passes it to `use`. The body counts towards the memory budget until `use`
   * has finished.
   */
  async #withBody<T>({ request, clientId, gone }: CallContext, use: (body: Buffer) => Promise<T>): Promise<T> {
    const maxBytes = this.#config['router.maxResponseBytes'] * resultOverhead;
    const announced = announcedBytes(request);
    const hold = (bytes: number) => this.#dependencies.results.hold({ bytes, client: clientId, gone });
    let permit = announced === Infinity ? undefined : hold(Math.min(announced, maxBytes));
    try {
      await permit;
      // The size of a chunked body is unknown until its end, so a large chunked body counts as the largest allowed
      // size.
      const takePermit = () => (permit = hold(maxBytes));
      const pause = permit === undefined ? { at: smallResultBytes, until: takePermit } : undefined;
      return await use(await readBody(request, maxBytes, pause));
    } finally {
      releaseBody(request);
      // Reading the body may have failed before the permit was granted.
      permit?.then(
        (release) => release(),
        () => undefined,
      );
    }
  }
}
