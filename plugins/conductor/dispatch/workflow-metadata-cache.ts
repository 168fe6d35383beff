// A cache of workflow metadata and task definitions, read from the engine to predict which queues get tasks next.

import type { Engine } from '#lib/conductor/engine.ts';
import { parseResponse } from '#lib/conductor/read-response.ts';
import type { QueueName } from './task-queues.ts';
import { workflowMetadataOf, type WorkflowDefinition, type WorkflowMetadata } from './workflow-metadata.ts';

/** The fields of a task definition that determine whether a task may be dispatched directly. */
export interface TaskDef {
  retryCount: number;
  /** In seconds; 0: no timeout. */
  responseTimeoutSeconds: number;
  /** Values that the engine adds to the input of the task. */
  inputTemplate?: Record<string, unknown>;
  /** Time in seconds within which a worker must poll the task; 0: no limit. */
  pollTimeoutSeconds?: number;
}

interface EventHandler {
  event: string;
  active?: boolean;
  actions?: { start_workflow?: { name: string; version?: number; taskToDomain?: Record<string, string> } }[];
}

/**
 * Cache time in milliseconds. A definition that is changed in place takes effect only after this time; a new version
 * has its own entry.
 */
const cacheMs = 60_000;

/** Reads definitions from the engine and caches them for a minute. */
export class WorkflowMetadataCache {
  readonly #engine: Pick<Engine, 'request'>;
  readonly #cache = new Map<string, { value: unknown; until: number }>();

  constructor(engine: Pick<Engine, 'request'>) {
    this.#engine = engine;
  }

  /**
   * Returns the metadata of a workflow version, without a promise when it is cached.
   * @throws EngineError, Error when the engine does not return it
   */
  metadataOf(name: string, version: number): WorkflowMetadata | Promise<WorkflowMetadata> {
    const path = `/api/metadata/workflow/${encodeURIComponent(name)}?version=${version}`;
    return this.#get(path, (definition) => workflowMetadataOf(definition as WorkflowDefinition));
  }

  /**
   * Returns the task types that may follow a task, in any version of its workflow, because the engine does not say to
   * which version a task belongs. A version that ends with the task contributes none.
   * @param completed reference name of the task when it has completed; undefined after any other result
   * @throws EngineError, Error when the engine does not return the definitions
   */
  async taskTypesAfter(workflow: string, completed: string | undefined): Promise<string[]> {
    const path = `/api/metadata/workflow/${encodeURIComponent(workflow)}/versions`;
    const versions = await this.#get(path, (all) => (all as { version: number }[]).map(({ version }) => version));
    const metadata = await Promise.all(versions.map((version) => this.metadataOf(workflow, version)));
    const continuing = metadata.filter(({ first }) => first?.last === undefined || first.referenceName !== completed);
    return [...new Set(continuing.flatMap(({ taskTypes }) => taskTypes))];
  }

  /** Returns the task definition of a task type, like {@link metadataOf}. */
  taskDef(taskType: string): TaskDef | Promise<TaskDef> {
    return this.#get(`/api/metadata/taskdefs/${encodeURIComponent(taskType)}`, (definition) => definition as TaskDef);
  }

  /** Returns the queues that may get tasks after `event` (`conductor:<workflow>:<sink>`) is published. */
  async queuesOfEvent(event: string): Promise<QueueName[]> {
    const handlers = await this.#get('/api/event', (all) => all as EventHandler[]);
    const started = handlers
      .filter((handler) => handler.active && handler.event === event)
      .flatMap(({ actions = [] }) =>
        actions.flatMap(({ start_workflow: start }) => (start === undefined ? [] : [start])),
      );
    const queues = await Promise.all(
      started.map(async ({ name, version = 1, taskToDomain = {} }) =>
        (await this.metadataOf(name, version)).taskTypes.slice(0, 1).map((taskType) => queueOf(taskType, taskToDomain)),
      ),
    );
    return queues.flat();
  }

  /** Empties the cache. */
  clear(): void {
    this.#cache.clear();
  }

  #get<T>(path: string, read: (json: unknown) => T): T | Promise<T> {
    const cached = this.#cache.get(path);
    if (cached !== undefined && cached.until > performance.now()) return cached.value as T | Promise<T>;
    const fetched = this.#fetch(path).then(read);
    const entry: { value: unknown; until: number } = { value: fetched, until: performance.now() + cacheMs };
    this.#cache.set(path, entry);
    fetched.then(
      (value) => (entry.value = value),
      () => this.#cache.get(path) === entry && this.#cache.delete(path),
    );
    return fetched;
  }

  async #fetch(path: string): Promise<unknown> {
    const { status, body } = await this.#engine.request({ method: 'GET', path });
    if (status !== 200) throw new Error(`the engine responded with ${status} for ${path}`);
    return parseResponse({ body });
  }
}

/**
 * Returns the queue of a task. The domain is the entry of `taskToDomain` for the task type, otherwise the entry for
 * `*`. Without either entry, the task belongs to the default pool.
 */
export function queueOf(taskType: string, taskToDomain: Readonly<Record<string, string>> = {}): QueueName {
  return { taskType, domain: taskToDomain[taskType] ?? taskToDomain['*'] };
}
