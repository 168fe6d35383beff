// The MDM flow as read from workflow and event handler definitions: which executions follow, and how they are started.

import type { Definitions } from '#lib/conductor/definitions/load-definitions.ts';
import { type ProducedEvent, producedEvents } from '#lib/conductor/definitions/events.ts';
import { collegeOf } from '#lib/conductor/definitions/queue-events.ts';
import type { EventHandler, WorkflowTask } from '#lib/conductor/definitions/schema.ts';
import { tasksOf } from '#lib/conductor/definitions/workflow-tasks.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import { resolveTemplate, type Scope } from './template.ts';

/** The workflow of a client's PATCH. */
export const patchWorkflow = 'college-adaptorWF';
/** The version of `patchWorkflow` that emits no event; probes use it to read a record. */
export const readVersion = 1;
/** The workflow that notifies MDM of a PATCH. */
export const notifyWorkflow = 'mdmWF';
/** The workflow that shares a cccid with one interested system. */
export const shareWorkflow = 'mdm-shareWF';
/** The workflow that records an update from MDM's queue. */
export const updateWorkflow = 'mdm-updateWF';
/** Reference name of the adaptor task in `patchWorkflow`. */
export const intakeTask = 'college-adaptor_intake';
/** Reference name of the notification task in `notifyWorkflow`. */
export const notifyTask = 'mdm_notify';

/** The EVENT task of one workflow version. */
interface EventSource {
  readonly workflow: string;
  readonly version: number;
  readonly event: ProducedEvent;
  readonly task: WorkflowTask;
}

/** Thrown for a workflow version that the definitions do not contain: its follow-ups are unknown. */
export class UnknownVersion extends Error {
  override readonly name = 'UnknownVersion';

  constructor(workflow: string, version: number) {
    super(
      `${workflow} version ${version} is not among this router's definitions: add its file to workflows/ and reload`,
    );
  }
}

/** The parts of the definitions that the reconciler needs. */
export class MdmDefinitions {
  readonly #versions: ReadonlySet<string>;
  readonly #sources: readonly EventSource[];
  readonly #handlers: ReadonlyMap<string, EventHandler>;
  /** Event handlers by the college whose queue they consume. */
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

  /** Returns true unless the version is known to produce no event. */
  mayProduceEvent(workflow: string, version: number): boolean {
    return !this.#versions.has(keyOf(workflow, version)) || this.#sourceOf(workflow, version) !== undefined;
  }

  /**
   * Returns the execution that the handler of an execution's event starts. The list is empty when its workflow version
   * produces no event, and when the event has no handler and waits in its queue.
   * @param scope values for expressions in the name and the payload of the event
   * @throws UnknownVersion when the definitions do not contain the version
   */
  startsAfter(
    { workflowName, workflowVersion }: Pick<WholeExecution, 'workflowName' | 'workflowVersion'>,
    scope: Scope,
  ): StartWorkflowRequest[] {
    const source = this.#sourceOf(workflowName, workflowVersion);
    if (source === undefined) return [];
    const handler = this.#handlers.get(String(resolveTemplate(source.event.name, scope)));
    const payload = resolveTemplate(source.task.inputParameters ?? {}, scope) as Record<string, unknown>;
    const request = startBy(handler, payload);
    return request === null ? [] : [request];
  }

  /**
   * Returns the share that is started for an update from the queue.
   * @param update the message, as in the input of `updateWorkflow`
   * @returns null when its college no longer has a handler
   */
  shareForUpdate(update: Scope): StartWorkflowRequest | null {
    return startBy(this.#queueHandlers.get(String(update['misCode'])), update);
  }

  /** Returns the EVENT task of a version; undefined for a version that produces no event. @throws UnknownVersion */
  #sourceOf(workflow: string, version: number): EventSource | undefined {
    if (!this.#versions.has(keyOf(workflow, version))) throw new UnknownVersion(workflow, version);
    return this.#sources.find((source) => source.workflow === workflow && source.version === version);
  }
}

function keyOf(workflow: string, version: number): string {
  return `${workflow} ${version}`;
}

/** Returns the execution that a handler starts for a payload. */
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
