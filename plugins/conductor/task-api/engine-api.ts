// The engine-api policy: the engine's API for workers and operators, with held long polls and direct dispatch.

import type { Request, Response } from 'express';
import { Type } from 'typebox';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { Config } from '#lib/config/schema.ts';
import type { Task, TaskResult } from '#lib/conductor/types.ts';
import { contextOf, declarePolicy, definePolicy, type Policy } from '../../../gateway/plugin-api/plugin-api.ts';
import { announcedBytes, readBody } from '../../../gateway/plugin-api/read-body.ts';
import { signalWhenGone } from '../../../gateway/plugin-api/signal-when-gone.ts';
import { Problem } from '#lib/problem/problem.ts';
import { adminScope, type AllowedCall, findAllowedCall } from './allow-list.ts';
import { describeEngineApi } from './describe-engine-api.ts';
import type { ExecutionDependencies } from '../execution/executions.ts';
import { engineUnavailable } from '../execution/engine-unavailable.ts';
import { findTask, parseDispatchedTaskId } from '../dispatch/dispatched-task.ts';
import { type ResultBudget, smallResultBytes } from '../dispatch/result-budget.ts';
import { splitTarget } from '../execution/target.ts';
import { parseTaskResult } from './task-result.ts';
import type { TaskUpdates } from './task-updates.ts';
import type { WorkerLimits } from './worker-limits.ts';

const parameters = Type.Object(
  { strip: Type.String({ pattern: '^(/[^/]+)+$', description: 'leading part of the public path in front of /api' }) },
  { additionalProperties: false },
);

/** Largest result in relation to the largest response, which a result contains as base64 or escaped text. */
const resultOverhead = 2;
/** Time-out of a poll that names none, in milliseconds; Conductor's default. */
const defaultPollMs = 100;

/** What the policy depends on. */
export interface EngineApiDependencies extends Omit<ExecutionDependencies, 'dispatchesDirectly'> {
  updates: TaskUpdates;
  /** Bounds the memory of large results. */
  results: ResultBudget;
  limits: WorkerLimits;
  /** True while workers get tasks. A draining router delivers tasks as long as a client waits. */
  dispatchesTasks: () => boolean;
  /** Called when a task is sent to a worker. */
  handedOut: (task: Task) => void;
  /** Called when a worker reports a result. */
  reported: (result: TaskResult) => void;
  /** Returns a task with the trace context for its worker. */
  withTrace: (task: Task) => Task;
}

/** Name, parameters and description of the policy. */
export const engineApiDeclaration = declarePolicy({
  name: 'engine-api',
  schema: parameters,
  describe: ({ strip }) => describeEngineApi(strip),
});

/**
 * Creates the policy `engine-api`, the last of its pipeline: Conductor's API for workers and operators.
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

/** @throws Problem `not-found` for a call that is not allowed, `insufficient-scope` when the token lacks its scope */
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
    this.#sendTasks(context, tasks, tasks[0]);
  }

  async 'batch-poll'({ segments }: AllowedCall, context: CallContext): Promise<void> {
    const query = new URLSearchParams(context.query);
    const count = wholeNumber(query.get('count'), 1);
    const requestedMs = wholeNumber(query.get('timeout'), defaultPollMs);
    const timeoutMs = Math.min(requestedMs, this.#config['conductor.maxHeldPollMs']);
    const tasks = await this.#takeTasks(segments.at(-1) as string, context, { count, timeoutMs });
    this.#sendTasks(context, tasks, tasks);
  }

  async update(_call: AllowedCall, context: CallContext): Promise<void> {
    const { response } = await this.#reportResult(context);
    send(context.response, response.status, {
      type: response.status === 200 ? 'text/plain' : 'application/json',
      body: response.body,
    });
  }

  /** Conductor's update-v2: the response to a result is the worker's next task, if one exists already. */
  async 'update-and-poll'(_call: AllowedCall, context: CallContext): Promise<void> {
    const { response, queue, result } = await this.#reportResult(context);
    if (response.status !== 200) {
      return send(context.response, response.status, { type: 'application/json', body: response.body });
    }
    const { queues, dispatchesTasks } = this.#dependencies;
    const mayTakeNext = queue !== undefined && dispatchesTasks();
    const next = mayTakeNext ? await queues.queue(queue).takeOne(result.workerId, context.gone) : undefined;
    this.#sendTasks(context, next === undefined ? [] : [next], next);
  }

  /** Writes a line to the log of a task. */
  async log(call: AllowedCall, context: CallContext): Promise<void> {
    const [, taskId = ''] = call.segments;
    await this.#dependencies.limits.checkTask(context.clientId, taskId);
    const segments = call.segments.with(1, await this.#engineId(taskId));
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

  /** Returns the engine's id of a task that was dispatched directly; any other id unchanged. */
  async #engineId(taskId: string): Promise<string> {
    if (parseDispatchedTaskId(taskId) === undefined) return taskId;
    return (await findTask(this.#dependencies.engine, taskId))?.taskId ?? taskId;
  }

  /** Holds a poll until there are tasks. @throws Problem `shutting-down`, `forbidden`, `engine-unavailable` */
  async #takeTasks(
    taskType: string,
    { query, gone, clientId }: CallContext,
    poll: { count: number; timeoutMs: number },
  ): Promise<Task[]> {
    const { queues, limits, dispatchesTasks } = this.#dependencies;
    if (!dispatchesTasks()) throw new Problem('shutting-down', { headers: { 'retry-after': '1' } });
    const search = new URLSearchParams(query);
    const name = { taskType, domain: search.get('domain') || undefined };
    limits.checkQueue(clientId, name);
    const queue = queues.queue(name);
    queues.notePoll(taskType);
    const tasks = await queue.poll({ ...poll, workerId: search.get('workerid') ?? undefined, signal: gone });
    queues.notePoll(taskType);
    if (tasks.length === 0 && queue.failing) throw engineUnavailable();
    return tasks;
  }

  /** Sends tasks to a worker. Tasks of an incomplete response go to the next worker. */
  #sendTasks({ response }: CallContext, tasks: readonly Task[], body: Task | readonly Task[] | undefined): void {
    const { queues, updates, withTrace } = this.#dependencies;
    const giveBack = () => {
      for (const task of tasks) queues.queue({ taskType: task.taskDefName, domain: task.domain }).giveBack([task]);
    };
    if (response.destroyed) return giveBack();
    updates.remember(tasks);
    for (const task of tasks) this.#dependencies.handedOut(task);
    response.once('close', () => {
      if (!response.writableFinished) giveBack();
    });
    if (body === undefined) response.writeHead(204).end();
    else {
      const sent = Array.isArray(body) ? body.map(withTrace) : withTrace(body as Task);
      send(response, 200, { type: 'application/json', body: JSON.stringify(sent) });
    }
  }

  /** Reads a result and reports it to the engine. */
  async #reportResult({ request, clientId, gone }: CallContext) {
    const maxBytes = this.#config['router.maxResponseBytes'] * resultOverhead;
    const { limits, updates, reported, results } = this.#dependencies;
    const announced = announcedBytes(request);
    const hold = (bytes: number) => results.hold({ bytes, client: clientId, gone });
    let permit = announced === Infinity ? undefined : hold(Math.min(announced, maxBytes));
    try {
      await permit;
      // The size of a chunked body is unknown until its end: a large one counts with the largest allowed size.
      const takePermit = () => (permit = hold(maxBytes));
      const pause = permit === undefined ? { at: smallResultBytes, until: takePermit } : undefined;
      const body = await readBody(request, maxBytes, pause);
      const result = parseTaskResult(body);
      await limits.checkTask(clientId, result.taskId, result.workflowInstanceId);
      reported(result);
      return { result, ...(await updates.update(result, body)) };
    } finally {
      // Reading the body may have failed before the permit was granted.
      permit?.then(
        (release) => release(),
        () => undefined,
      );
    }
  }
}

/** Sends a response with its Content-Length: Node would send it in chunks otherwise. */
function send(response: Response, status: number, { type, body }: { type: string; body: string | Buffer }): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body);
}

/** @throws Problem `malformed-request` */
function wholeNumber(text: string | null, absent: number): number {
  const value = text === null || text === '' ? absent : Number(text);
  if (!Number.isInteger(value) || value < 0)
    throw new Problem('malformed-request', { detail: 'count and timeout are whole numbers.' });
  return value;
}
