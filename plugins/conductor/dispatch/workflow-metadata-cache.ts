// What the engine will want next: read from the definitions, so that polls are answered when a task appears.

import type { Engine } from '#lib/conductor/engine.ts';
import { parseResponse } from '#lib/conductor/read-response.ts';
import type { QueueName } from './task-queues.ts';
import { workflowMetadataOf, type WorkflowDefinition, type WorkflowMetadata } from './workflow-metadata.ts';

/** The parts of a task definition that decide how a task may be handed out. */
export interface TaskDef {
  retryCount: number;
  /** In seconds; 0 = none. */
  responseTimeoutSeconds: number;
}

interface EventHandler {
  event: string;
  active?: boolean;
  actions?: { start_workflow?: { name: string; version?: number; taskToDomain?: Record<string, string> } }[];
}

/** Definitions change rarely; a new version has a new name here. One that was changed in place is seen after this time (milliseconds). */
const cacheMs = 60_000;

/** Reads definitions through the engine and remembers them for a minute. */
export class WorkflowMetadataCache {
  readonly #engine: Pick<Engine, 'request'>;
  readonly #cache = new Map<string, { value: Promise<unknown>; until: number }>();

  constructor(engine: Pick<Engine, 'request'>) {
    this.#engine = engine;
  }

  /** What the definition of a workflow version says of its executions. */
  async outline(name: string, version: number): Promise<WorkflowMetadata> {
    const path = `/api/metadata/workflow/${encodeURIComponent(name)}?version=${version}`;
    return this.#get(path, (definition) => workflowMetadataOf(definition as WorkflowDefinition));
  }

  /** How the engine treats a task type. */
  async taskDef(taskType: string): Promise<TaskDef> {
    return this.#get(`/api/metadata/taskdefs/${encodeURIComponent(taskType)}`, (definition) => definition as TaskDef);
  }

  /** Queues whose workers may get work when workflow `name` publishes `event` (`conductor:<workflow>:<sink>`). */
  async queuesOfEvent(event: string): Promise<QueueName[]> {
    const handlers = await this.#get('/api/event', (all) => all as EventHandler[]);
    const started = handlers
      .filter((handler) => handler.active && handler.event === event)
      .flatMap(({ actions = [] }) =>
        actions.flatMap(({ start_workflow: start }) => (start === undefined ? [] : [start])),
      );
    const queues = await Promise.all(
      started.map(async ({ name, version = 1, taskToDomain = {} }) =>
        (await this.outline(name, version)).taskTypes.slice(0, 1).map((taskType) => queueOf(taskType, taskToDomain)),
      ),
    );
    return queues.flat();
  }

  /** Whatever is needed next is read anew. */
  forget(): void {
    this.#cache.clear();
  }

  async #get<T>(path: string, read: (json: unknown) => T): Promise<T> {
    const cached = this.#cache.get(path);
    if (cached !== undefined && cached.until > performance.now()) return cached.value as Promise<T>;
    const value = this.#fetch(path).then(read);
    const entry = { value, until: performance.now() + cacheMs };
    this.#cache.set(path, entry);
    value.catch(() => this.#cache.get(path) === entry && this.#cache.delete(path));
    return value;
  }

  async #fetch(path: string): Promise<unknown> {
    const { status, body } = await this.#engine.request({ method: 'GET', path });
    if (status !== 200) throw new Error(`the engine answered ${status} for ${path}`);
    return parseResponse({ body });
  }
}

/** The queue a task goes to: its own entry in taskToDomain, else `*`, else the default pool. */
export function queueOf(taskType: string, taskToDomain: Readonly<Record<string, string>> = {}): QueueName {
  return { taskType, domain: taskToDomain[taskType] ?? taskToDomain['*'] };
}
