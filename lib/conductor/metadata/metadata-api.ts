// The engine's metadata API: definitions and what an operator wants to know of the engine, through any way to reach it.

import type { EventHandler, TaskDefinition, WorkflowDefinition } from '../definitions/schema.ts';
import { EngineError } from '../engine-error.ts';
import type { EngineRequest, EngineResponse } from '../engine.ts';
import { parseResponse, readErrorBody, refusalReasons } from '../read-response.ts';

/** One call of the engine's API: `engine.request` itself, or the same through the router. */
export type EngineCall = (request: EngineRequest) => Promise<EngineResponse>;

/** A definition as the engine gives it back: our fields, its defaults, and what it notes by itself. */
export type RegisteredDefinition = Readonly<Record<string, unknown>> & { readonly name: string };

/** Everything the engine has. */
export interface RegisteredDefinitions {
  readonly workflows: readonly (RegisteredDefinition & { readonly version: number })[];
  readonly taskDefs: readonly RegisteredDefinition[];
  readonly eventHandlers: readonly RegisteredDefinition[];
}

/** When a worker last asked for tasks of one type (`PollData`). */
export interface PollData {
  /** The task type. */
  readonly queueName: string;
  readonly domain?: string;
  readonly workerId?: string;
  /** Milliseconds since 1970. */
  readonly lastPollTime: number;
}

/** @throws EngineError from every call, with the engine's own reasons in its message */
export class MetadataApi {
  readonly #call: EngineCall;

  constructor(call: EngineCall) {
    this.#call = call;
  }

  /** Everything in three calls; asking one by one would fill the engine's log with a stack trace for each absence. */
  async readDefinitions(): Promise<RegisteredDefinitions> {
    const [workflows, taskDefs, eventHandlers] = await Promise.all([
      this.#get<RegisteredDefinitions['workflows']>('/api/metadata/workflow'),
      this.#get<RegisteredDefinitions['taskDefs']>('/api/metadata/taskdefs'),
      this.#get<RegisteredDefinitions['eventHandlers']>('/api/event'),
    ]);
    return { workflows, taskDefs, eventHandlers };
  }

  /** @param exists the engine has one verb for each case and answers 500 to the wrong one */
  async putTaskDef(definition: TaskDefinition, exists: boolean): Promise<void> {
    if (exists) await this.#send('PUT', '/api/metadata/taskdefs', definition);
    else await this.#send('POST', '/api/metadata/taskdefs', [definition]);
  }

  async putWorkflow(definition: WorkflowDefinition, exists: boolean): Promise<void> {
    if (!exists) {
      await this.#send('POST', '/api/metadata/workflow', definition);
      return;
    }
    const path = '/api/metadata/workflow';
    const { body } = await this.#send('PUT', path, [definition]);
    refuseBulkErrors(body, `PUT ${path}`);
  }

  async putEventHandler(definition: EventHandler, exists: boolean): Promise<void> {
    await this.#send(exists ? 'PUT' : 'POST', '/api/event', definition);
  }

  /** Executions that run keep the definition they were started with. */
  async deleteWorkflow(name: string, version: number): Promise<void> {
    await this.#send('DELETE', `/api/metadata/workflow/${encodeURIComponent(name)}/${version}`);
  }

  async deleteTaskDef(name: string): Promise<void> {
    await this.#send('DELETE', `/api/metadata/taskdefs/${encodeURIComponent(name)}`);
  }

  async deleteEventHandler(name: string): Promise<void> {
    await this.#send('DELETE', `/api/event/${encodeURIComponent(name)}`);
  }

  /** Ids of the executions of a workflow that have not ended, paused ones included, of whatever version. */
  readRunning(workflow: string): Promise<readonly string[]> {
    return this.#get(`/api/workflow/running/${encodeURIComponent(workflow)}`);
  }

  /** The version an execution was started with; undefined when it is gone. */
  async readExecutionVersion(executionId: string): Promise<number | undefined> {
    const path = `/api/workflow/${encodeURIComponent(executionId)}?includeTasks=false`;
    const response = await this.#call({ method: 'GET', path });
    if (response.status === 404) return undefined;
    return parseResponse<{ workflowVersion: number }>(refuseErrors(response, 'GET /api/workflow/{id}')).workflowVersion;
  }

  /** The engine's version, or undefined when it does not say. */
  async readVersion(): Promise<string | undefined> {
    const { status, body } = await this.#call({ method: 'GET', path: '/api/version', headers: { accept: '*/*' } });
    const text = body.toString('utf8').trim();
    return status === 200 && /^\d[\w.-]*$/.test(text) ? text : undefined;
  }

  /** The last poll of every worker of every task type. */
  readPollData(): Promise<readonly PollData[]> {
    return this.#get('/api/tasks/queue/polldata/all');
  }

  /** Messages waiting in each queue: tasks by `[<domain>:]<task type>`, events by `<workflow>:<sink>`. */
  readQueueSizes(): Promise<Readonly<Record<string, number>>> {
    return this.#get('/api/tasks/queue/all');
  }

  /** How many executions the index knows in this status. */
  async countExecutions(status: string): Promise<number> {
    const query = new URLSearchParams({ query: `status='${status}'`, freeText: '*', start: '0', size: '1' });
    const { totalHits } = await this.#get<{ totalHits: number }>(`/api/workflow/search?${query}`);
    return totalHits;
  }

  async #get<T>(path: string): Promise<T> {
    const response = await this.#call({ method: 'GET', path });
    return parseResponse(refuseErrors(response, `GET ${path.split('?')[0]}`));
  }

  async #send(method: 'POST' | 'PUT' | 'DELETE', path: string, value?: unknown): Promise<EngineResponse> {
    const body = value === undefined ? {} : { body: JSON.stringify(value) };
    const headers = { 'content-type': 'application/json' };
    const response = await this.#call({ method, path, headers, ...body });
    return refuseErrors(response, `${method} ${path}`);
  }
}

function refuseErrors(response: EngineResponse, call: string): EngineResponse {
  if (response.status < 300) return response;
  // The words are about definitions, which hold nothing personal: they are not scrubbed.
  const text = refusalReasons(response).join('; ');
  throw new EngineError('refused', `${call} answered ${response.status}${text === '' ? '' : `: ${text}`}`, {
    status: response.status,
  });
}

/** `PUT /metadata/workflow` answers 200 even when it refused every definition: the reasons stand in the body. */
function refuseBulkErrors(body: Buffer, call: string): void {
  const { bulkErrorResults = {} } = readErrorBody(body);
  const reasons = Object.entries(bulkErrorResults).map(([name, reason]) => `${name}: ${reason}`);
  if (reasons.length > 0)
    throw new EngineError('refused', `${call} was refused: ${reasons.join('; ')}`, { status: 200 });
}
