// Which executions owe MDM something, and how it is started: read from the definitions, so that nothing is said twice.

import type { Definitions } from '#lib/conductor/definitions/load-definitions.ts';
import { type ProducedEvent, producedEvents } from '#lib/conductor/definitions/events.ts';
import { collegeOf } from '#lib/conductor/definitions/queue-events.ts';
import type { EventHandler, WorkflowTask } from '#lib/conductor/definitions/schema.ts';
import { tasksOf } from '#lib/conductor/definitions/workflow-tasks.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import { resolveTemplate, type Scope } from './template.ts';

/** The workflow that carries a client's PATCH, and what it becomes. */
export const patchWorkflow = 'college-adaptorWF';
/** Its version without an event: what reads a record again. */
export const readVersion = 1;
export const notifyWorkflow = 'mdmWF';
export const shareWorkflow = 'mdm-shareWF';
/** The record of an update that MDM published to its queue. */
export const updateWorkflow = 'mdm-updateWF';
export const intakeTask = 'college-adaptor_intake';
export const notifyTask = 'mdm_notify';

/** The EVENT task of one workflow version. */
export interface EventSource {
  readonly workflow: string;
  readonly version: number;
  readonly event: ProducedEvent;
  readonly task: WorkflowTask;
}

/** A workflow version that is not among the definitions: nobody can say what should follow its executions. */
export class UnknownVersion extends Error {
  override readonly name = 'UnknownVersion';

  constructor(workflow: string, version: number) {
    super(
      `${workflow} version ${version} is not among this router's definitions: add its file to workflows/ and reload`,
    );
  }
}

/** Everything the reconciler knows of the definitions. */
export class MdmDefinitions {
  readonly #versions: ReadonlySet<string>;
  readonly #sources: readonly EventSource[];
  readonly #handlers: ReadonlyMap<string, EventHandler>;
  /** By the college whose queue it listens to. */
  readonly #queueHandlers: ReadonlyMap<string, EventHandler>;

  constructor(definitions: Definitions) {
    this.#versions = new Set(definitions.workflows.map(({ definition }) => keyOf(definition.name, definition.version)));
    this.#sources = producedEvents(definitions).map((event) => {
      const { definition } = event.source;
      const task = tasksOf(definition).find((placed) => String(placed.path) === String(event.path))?.task;
      if (task === undefined) throw new Error(`${event.name}: no such task`);
      return { workflow: definition.name, version: definition.version, event, task };
    });
    this.#handlers = new Map(
      definitions.eventHandlers
        .filter(({ definition }) => definition.active)
        .map(({ definition }) => [definition.event, definition]),
    );
    this.#queueHandlers = new Map(
      definitions.eventHandlers.flatMap(({ definition }) => {
        const college = collegeOf(definition.event);
        const shares = definition.actions[0]?.start_workflow.name === shareWorkflow;
        return college !== undefined && shares ? [[college, definition] as const] : [];
      }),
    );
  }

  /** True unless the version is known to produce no event. */
  mayProduceEvent(workflow: string, version: number): boolean {
    return !this.#versions.has(keyOf(workflow, version)) || this.sourceOf(workflow, version) !== undefined;
  }

  /**
   * The EVENT task of a version; undefined for a version that produces none.
   * @throws UnknownVersion
   */
  sourceOf(workflow: string, version: number): EventSource | undefined {
    if (!this.#versions.has(keyOf(workflow, version))) throw new UnknownVersion(workflow, version);
    return this.#sources.find((source) => source.workflow === workflow && source.version === version);
  }

  /** The payload that the EVENT task of `source` would carry. */
  payloadOf(source: EventSource, scope: Scope): Record<string, unknown> {
    return resolveTemplate(source.task.inputParameters ?? {}, scope) as Record<string, unknown>;
  }

  /**
   * What the handler of an event starts.
   * @param scope what the sink's own expressions name; the payload is what the event carries
   * @returns null when nobody handles it: the event waits in its queue
   */
  startFor(source: EventSource, scope: Scope, payload: Scope): StartWorkflowRequest | null {
    const event = String(resolveTemplate(source.event.name, scope));
    return startBy(this.#handlers.get(event), payload);
  }

  /**
   * The share that is started for an update of the queue.
   * @param update the message, as `updateWorkflow` was started with it
   * @returns null when its college has no handler any more
   */
  shareForUpdate(update: Scope): StartWorkflowRequest | null {
    return startBy(this.#queueHandlers.get(String(update['misCode'])), update);
  }
}

function keyOf(workflow: string, version: number): string {
  return `${workflow} ${version}`;
}

/** What a handler starts when this is the payload. */
function startBy(handler: EventHandler | undefined, payload: Scope): StartWorkflowRequest | null {
  const start = handler?.actions[0]?.start_workflow;
  if (start === undefined) return null;
  const { name, version, taskToDomain } = start;
  return {
    name,
    version,
    correlationId: String(resolveTemplate(start.correlationId, payload)),
    taskToDomain,
    input: resolveTemplate(start.input, payload) as Record<string, unknown>,
  };
}
