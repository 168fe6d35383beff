// The engine-api policy: the engine's own API for workers and operators, polls answered from parked queues.

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
import { findTask, placeOf } from '../dispatch/dispatched-task.ts';
import { type ResultBudget, smallResultBytes } from '../dispatch/result-budget.ts';
import { splitTarget } from '../execution/target.ts';
import { parseTaskResult } from './task-result.ts';
import type { TaskUpdates } from './task-updates.ts';
import type { WorkerLimits } from './worker-limits.ts';

const parameters = Type.Object(
  { strip: Type.String({ pattern: '^(/[^/]+)+$', description: 'leading part of the public path in front of /api' }) },
  { additionalProperties: false },
);

/** A worker's result carries an answer as base64 or escaped text: room for twice the largest answer. */
const resultOverhead = 2;
/** Engine default when a poll names no time-out, in milliseconds. */
const defaultPollMs = 100;

export interface EngineApiDependencies extends Omit<ExecutionDependencies, 'handsOver'> {
  updates: TaskUpdates;
  /** What large results have to wait for before they are read. */
  results: ResultBudget;
  limits: WorkerLimits;
  /** True as long as workers get tasks: a router that drains hands out what its clients still wait for, no more. */
  handsOut: () => boolean;
  /** Told when a task leaves for a worker. */
  handedOut: (task: Task) => void;
  /** Told when a worker brings a result. */
  reported: (result: TaskResult) => void;
  /** A task as it leaves for a worker. */
  withTrace: (task: Task) => Task;
}

export const engineApiDeclaration = declarePolicy({
  name: 'engine-api',
  schema: parameters,
  describe: ({ strip }) => describeEngineApi(strip),
});

/** Creates the policy on the parts of the conductor plugin. */
export function createEngineApiPolicy(config: Config, parts: EngineApiDependencies): Policy {
  const api = new EngineApi(config, parts);
  return definePolicy(engineApiDeclaration, {
    create({ strip }) {
      const stripped = strip.split('/').length - 1;
      return async function callEngine(request, response) {
        const { path, query } = splitTarget(request.originalUrl, stripped);
        const call = chooseCall(request, path);
        const { clientId = '' } = contextOf(request);
        parts.limits.checkCall(clientId, call.scope === adminScope ? 'admin' : 'worker');
        const gone = signalWhenGone(response);
        try {
          await api[call.kind](call, { request, response, query: query ?? '', gone, clientId });
        } catch (error) {
          throw error instanceof EngineError ? engineProblem(error) : error;
        }
      };
    },
  });
}

/** @throws Problem `not-found` for a call that does not exist, `insufficient-scope` for one that needs another scope */
function chooseCall(request: Request, path: string): AllowedCall {
  const call = findAllowedCall(request.method, path);
  if (call === undefined) throw new Problem('not-found', { detail: 'This call is not open to workers or operators.' });
  if (contextOf(request).scopes?.has(call.scope)) return call;
  throw new Problem('insufficient-scope', {
    detail: `This call needs the scope ${call.scope}.`,
    headers: { 'www-authenticate': `Bearer realm="service-router", error="insufficient_scope", scope="${call.scope}"` },
  });
}

function engineProblem(error: EngineError): Problem {
  return new Problem('engine-unavailable', {
    detail: 'The engine did not answer.',
    headers: { 'retry-after': '1' },
    cause: error,
  });
}

interface Exchange {
  request: Request;
  response: Response;
  query: string;
  clientId: string;
  /** Aborts when the caller is gone. */
  gone: AbortSignal;
}

/** One method a kind of call. */
class EngineApi {
  readonly #config: Config;
  readonly #parts: EngineApiDependencies;

  constructor(config: Config, parts: EngineApiDependencies) {
    this.#config = config;
    this.#parts = parts;
  }

  async poll({ segments }: AllowedCall, exchange: Exchange): Promise<void> {
    const tasks = await this.#takeTasks(segments.at(-1) as string, exchange, { count: 1, timeoutMs: defaultPollMs });
    this.#sendTasks(exchange, tasks, tasks[0]);
  }

  async 'batch-poll'({ segments }: AllowedCall, exchange: Exchange): Promise<void> {
    const query = new URLSearchParams(exchange.query);
    const count = wholeNumber(query.get('count'), 1);
    const asked = wholeNumber(query.get('timeout'), defaultPollMs);
    const timeoutMs = Math.min(asked, this.#config['conductor.maxParkedPollMs']);
    const tasks = await this.#takeTasks(segments.at(-1) as string, exchange, { count, timeoutMs });
    this.#sendTasks(exchange, tasks, tasks);
  }

  async update(_call: AllowedCall, exchange: Exchange): Promise<void> {
    const { response } = await this.#passOn(exchange);
    send(exchange.response, response.status, {
      type: response.status === 200 ? 'text/plain' : 'application/json',
      body: response.body,
    });
  }

  /** The engine's update-v2: the answer to a result is the worker's next task, when there is one already. */
  async 'update-and-poll'(_call: AllowedCall, exchange: Exchange): Promise<void> {
    const { response, queue, result } = await this.#passOn(exchange);
    if (response.status !== 200) {
      return send(exchange.response, response.status, { type: 'application/json', body: response.body });
    }
    const { queues, handsOut } = this.#parts;
    const takes = queue !== undefined && handsOut();
    const next = takes ? await queues.queue(queue).takeOne(result.workerId, exchange.gone) : undefined;
    this.#sendTasks(exchange, next === undefined ? [] : [next], next);
  }

  /** A line in the log of a task. */
  async log(call: AllowedCall, exchange: Exchange): Promise<void> {
    const [, taskId = ''] = call.segments;
    await this.#parts.limits.checkTask(exchange.clientId, taskId);
    const segments = call.segments.with(1, await this.#engineId(taskId));
    await this.forward({ ...call, segments }, exchange);
  }

  /** Anything else that is allowed goes to the engine as it is, path rebuilt from its checked segments. */
  async forward({ segments }: AllowedCall, { request, response, query, gone }: Exchange): Promise<void> {
    const body = await readBody(request, this.#config['router.maxAnswerBytes']);
    const path = `/api/${segments.map((segment) => encodeURIComponent(segment)).join('/')}${query === '' ? '' : `?${query}`}`;
    const type = request.headers['content-type'];
    const answer = await this.#parts.engine.request({
      method: request.method as 'GET' | 'POST' | 'PUT',
      path,
      headers: { accept: '*/*', ...(type === undefined ? {} : { 'content-type': type }) },
      ...(body.length === 0 ? {} : { body }),
      signal: gone,
    });
    const answerType = String(answer.headers['content-type'] ?? 'application/octet-stream');
    send(response, answer.status, { type: answerType, body: answer.body });
  }

  async #engineId(taskId: string): Promise<string> {
    if (placeOf(taskId) === undefined) return taskId;
    return (await findTask(this.#parts.engine, taskId))?.taskId ?? taskId;
  }

  async #takeTasks(
    taskType: string,
    { query, gone, clientId }: Exchange,
    poll: { count: number; timeoutMs: number },
  ): Promise<Task[]> {
    const { queues, limits, handsOut } = this.#parts;
    if (!handsOut()) throw new Problem('shutting-down', { headers: { 'retry-after': '1' } });
    const search = new URLSearchParams(query);
    const name = { taskType, domain: search.get('domain') || undefined };
    limits.checkQueue(clientId, name);
    const queue = queues.queue(name);
    queues.notePoll(taskType);
    const tasks = await queue.poll({ ...poll, workerId: search.get('workerid') ?? undefined, signal: gone });
    queues.notePoll(taskType);
    if (tasks.length === 0 && queue.failing)
      throw new Problem('engine-unavailable', { headers: { 'retry-after': '1' } });
    return tasks;
  }

  /** Tasks whose answer did not leave go to the next worker. */
  #sendTasks({ response }: Exchange, tasks: readonly Task[], body: Task | readonly Task[] | undefined): void {
    const { queues, updates, withTrace } = this.#parts;
    const giveBack = () => {
      for (const task of tasks) queues.queue({ taskType: task.taskDefName, domain: task.domain }).giveBack([task]);
    };
    if (response.destroyed) return giveBack();
    updates.remember(tasks);
    for (const task of tasks) this.#parts.handedOut(task);
    response.once('close', () => {
      if (!response.writableFinished) giveBack();
    });
    if (body === undefined) response.writeHead(204).end();
    else {
      const sent = Array.isArray(body) ? body.map(withTrace) : withTrace(body as Task);
      send(response, 200, { type: 'application/json', body: JSON.stringify(sent) });
    }
  }

  async #passOn({ request, clientId, gone }: Exchange) {
    const maxBytes = this.#config['router.maxAnswerBytes'] * resultOverhead;
    const { limits, updates, reported, results } = this.#parts;
    const announced = announcedBytes(request);
    const hold = (bytes: number) => results.hold({ bytes, client: clientId, gone });
    let turn = announced === Infinity ? undefined : hold(Math.min(announced, maxBytes));
    try {
      await turn;
      // How many bytes come in chunks shows at their end: one that turns out to be large is as large as it may be.
      const takeTurn = () => (turn = hold(maxBytes));
      const pause = turn === undefined ? { at: smallResultBytes, until: takeTurn } : undefined;
      const body = await readBody(request, maxBytes, pause);
      const result = parseTaskResult(body);
      await limits.checkTask(clientId, result.taskId, result.workflowInstanceId);
      reported(result);
      return { result, ...(await updates.update(result, body)) };
    } finally {
      // The body may have failed before its turn came.
      turn?.then(
        (letGo) => letGo(),
        () => undefined,
      );
    }
  }
}

/** With its length: Node would send it in chunks. */
function send(response: Response, status: number, { type, body }: { type: string; body: string | Buffer }): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body);
}

function wholeNumber(text: string | null, absent: number): number {
  const value = text === null || text === '' ? absent : Number(text);
  if (!Number.isInteger(value) || value < 0)
    throw new Problem('malformed-request', { detail: 'count and timeout are whole numbers.' });
  return value;
}
