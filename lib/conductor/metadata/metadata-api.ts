// A client of the engine's metadata API: definitions, queues and workers.

import type { EventHandler, TaskDefinition, WorkflowDefinition } from '../definitions/schema.ts';
import { EngineError } from '../engine-error.ts';
import { jsonBody } from '../executions/requests.ts';
import { expectSuccess, parseResponse, readErrorBody } from '../read-response.ts';
import type { EngineResponse, SendRequest } from '../send-call.ts';

/** A definition as the engine returns it, with the defaults and fields that the engine adds. */
export type RegisteredDefinition = Readonly<Record<string, unknown>> & { readonly name: string };

/** All definitions that are registered with the engine. */
export interface RegisteredDefinitions {
  readonly workflows: readonly (RegisteredDefinition & { readonly version: number })[];
  readonly taskDefs: readonly RegisteredDefinition[];
  readonly eventHandlers: readonly RegisteredDefinition[];
}

/** The last poll of a worker for one task type (`PollData`). */
export interface PollData {
  /** The task type. */
  readonly queueName: string;
  readonly domain?: string;
  readonly workerId?: string;
  /** Milliseconds since 1970. */
  readonly lastPollTime: number;
}

/** The engine's reasons for a refusal are about definitions, not about persons. */
const noPersonalData = { scrub: false };

/**
 * A client of the metadata API. Every call throws an EngineError on failure, with the engine's reasons in its message.
 */
export class MetadataApi {
  readonly #call: SendRequest;

  /** @param call sends each request */
  constructor(call: SendRequest) {
    this.#call = call;
  }

  /**
   * Returns all definitions with three calls. Definitions are not requested one by one, because the engine logs a stack
   * trace for each request for a missing one.
   */
  async readDefinitions(): Promise<RegisteredDefinitions> {
    const [workflows, taskDefs, eventHandlers] = await Promise.all([
      this.#get<RegisteredDefinitions['workflows']>('/api/metadata/workflow'),
      this.#get<RegisteredDefinitions['taskDefs']>('/api/metadata/taskdefs'),
      this.#get<RegisteredDefinitions['eventHandlers']>('/api/event'),
    ]);
    return { workflows, taskDefs, eventHandlers };
  }

  /**
   * Writes a task definition.
   * @param exists selects PUT (true) or POST: the engine responds to the wrong method with 500
   */
  async putTaskDef(definition: TaskDefinition, exists: boolean): Promise<void> {
    if (exists) await this.#send('PUT', '/api/metadata/taskdefs', definition);
    else await this.#send('POST', '/api/metadata/taskdefs', [definition]);
  }

  /** Writes a workflow version. @param exists see {@link putTaskDef} */
  async putWorkflow(definition: WorkflowDefinition, exists: boolean): Promise<void> {
    if (!exists) {
      await this.#send('POST', '/api/metadata/workflow', definition);
      return;
    }
    const path = '/api/metadata/workflow';
    const { body } = await this.#send('PUT', path, [definition]);
    refuseBulkErrors(body, `PUT ${path}`);
  }

  /** Writes an event handler. @param exists see {@link putTaskDef} */
  async putEventHandler(definition: EventHandler, exists: boolean): Promise<void> {
    await this.#send(exists ? 'PUT' : 'POST', '/api/event', definition);
  }

  /** Deletes a workflow version. Running executions keep their definition. */
  async deleteWorkflow(name: string, version: number): Promise<void> {
    await this.#send('DELETE', `/api/metadata/workflow/${encodeURIComponent(name)}/${version}`);
  }

  /** Deletes a task definition. */
  async deleteTaskDef(name: string): Promise<void> {
    await this.#send('DELETE', `/api/metadata/taskdefs/${encodeURIComponent(name)}`);
  }

  /** Deletes an event handler. Executions that it has started continue. */
  async deleteEventHandler(name: string): Promise<void> {
    await this.#send('DELETE', `/api/event/${encodeURIComponent(name)}`);
  }

  /** Returns the engine's version; undefined when the engine does not report it. */
  async readVersion(): Promise<string | undefined> {
    const { status, body } = await this.#call({ method: 'GET', path: '/api/version', headers: { accept: '*/*' } });
    const text = body.toString('utf8').trim();
    return status === 200 && /^\d[\w.-]*$/.test(text) ? text : undefined;
  }

  /** Returns the last poll of every worker for every task type. */
  readPollData(): Promise<readonly PollData[]> {
    return this.#get('/api/tasks/queue/polldata/all');
  }

  /**
   * Returns the length of each queue by its name: `[<domain>:]<task type>` for tasks, `<workflow>:<sink>` for events.
   */
  readQueueSizes(): Promise<Readonly<Record<string, number>>> {
    return this.#get('/api/tasks/queue/all');
  }

  async #get<T>(path: string): Promise<T> {
    const response = await this.#call({ method: 'GET', path });
    return parseResponse(expectSuccess(response, `GET ${path}`, noPersonalData));
  }

  async #send(method: 'POST' | 'PUT' | 'DELETE', path: string, value?: unknown): Promise<EngineResponse> {
    const response = await this.#call({ method, path, ...(value === undefined ? {} : jsonBody(value)) });
    return expectSuccess(response, `${method} ${path}`, noPersonalData);
  }
}

/**
 * Throws when definitions were refused. `PUT /metadata/workflow` responds with 200 even when the engine refuses every
 * definition; the body contains the reasons.
 */
function refuseBulkErrors(body: Buffer, call: string): void {
  const { bulkErrorResults = {} } = readErrorBody(body);
  const reasons = Object.entries(bulkErrorResults).map(([name, reason]) => `${name}: ${reason}`);
  if (reasons.length > 0)
    throw new EngineError('refused', `${call} was refused: ${reasons.join('; ')}`, { status: 200 });
}
