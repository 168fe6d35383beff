// The MDM flow as read from workflow and event handler definitions: which executions follow, and how they are started.

import type { Definitions } from '#lib/conductor/definitions/load-definitions.ts';
import { type ProducedEvent, producedEvents } from '#lib/conductor/definitions/events.ts';
import type { EventHandler, WorkflowTask } from '#lib/conductor/definitions/schema.ts';
import { tasksOf } from '#lib/conductor/definitions/workflow-tasks.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
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
  }

  /** The version of `notifyWorkflow` that event handlers start, the highest if several; undefined without a handler. */
  get notifyVersion(): number | undefined {
    const starts = [...this.#handlers.values()].flatMap(({ actions }) =>
      actions.map((action) => action.start_workflow),
    );
    const versions = starts.filter((start) => start?.name === notifyWorkflow).map((start) => start?.version ?? 0);
    return versions.toSorted((one, other) => one - other).at(-1);
  }

  /** Returns true unless the version is known to produce no event. */
  mayProduceEvent(workflow: string, version: number): boolean {
    return !this.#versions.has(keyOf(workflow, version)) || this.#sourceOf(workflow, version) !== undefined;
  }

  /**
   * Returns the start request of the handler of an execution's event, as a list of at most one. The list is empty when
   * the workflow version produces no event, when the event has no handler and waits in its queue, and when the handler
   * starts no execution.
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

  /** Returns the EVENT task of a version; undefined for a version that produces no event. @throws UnknownVersion */
  #sourceOf(workflow: string, version: number): EventSource | undefined {
    if (!this.#versions.has(keyOf(workflow, version))) throw new UnknownVersion(workflow, version);
    return this.#sources.find((source) => source.workflow === workflow && source.version === version);
  }
}

function keyOf(workflow: string, version: number): string {
  return `${workflow} ${version}`;
}

/** Returns the request with which a handler starts an execution for a payload; null when it starts none. */
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
