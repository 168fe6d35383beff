// Derives the MDM flow from workflow and event handler definitions: which executions follow, and how they are started.

import { Condition } from '#lib/conductor/definitions/condition.ts';
import { type ProducedEvent, producedEvents } from '#lib/conductor/definitions/events.ts';
import type { Path } from '#lib/conductor/definitions/json-text.ts';
import type { Definitions } from '#lib/conductor/definitions/load-definitions.ts';
import { notifyWorkflow, shareWorkflow } from '#lib/conductor/definitions/mdm-workflows.ts';
import type { EventHandler, WorkflowDefinition, WorkflowTask } from '#lib/conductor/definitions/schema.ts';
import { tasksOf } from '#lib/conductor/definitions/workflow-tasks.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import { resolveTemplate, type Scope } from './template.ts';

/** An EVENT task of one workflow version. */
interface EventSource {
  readonly workflow: string;
  readonly version: number;
  readonly event: ProducedEvent;
  readonly task: WorkflowTask;
  /**
   * The SWITCH tasks around the task, outermost first, each with the case that leads to the task (null: the default
   * case).
   */
  readonly branches: readonly { readonly task: WorkflowTask; readonly value: string | null }[];
}

type StartAction = EventHandler['actions'][number]['start_workflow'];

/** An active event handler that starts executions of the MDM flow. */
interface MdmHandler {
  readonly event: string;
  readonly condition: Condition | undefined;
  readonly starts: readonly StartAction[];
}

/** A workflow version, with the ids of its execution if there is one. */
export type EventOrigin = Pick<WholeExecution, 'workflowName' | 'workflowVersion'> &
  Partial<Pick<WholeExecution, 'workflowId' | 'correlationId' | 'taskToDomain'>>;

/** Thrown for a workflow version that the definitions do not contain: its follow-ups are unknown. */
export class UnknownVersion extends Error {
  override readonly name = 'UnknownVersion';

  constructor(workflow: string, version: number) {
    super(
      `${workflow} version ${version} is not among this router's definitions: add its file to workflows/ and reload`,
    );
  }
}

/** The parts of the definitions that the reconciler needs. Handlers that start other workflows are left out. */
export class MdmDefinitions {
  readonly #versions: ReadonlySet<string>;
  readonly #sources: readonly EventSource[];
  readonly #handlers: readonly MdmHandler[];

  constructor(definitions: Definitions) {
    this.#versions = new Set(definitions.workflows.map(({ definition }) => keyOf(definition.name, definition.version)));
    this.#sources = producedEvents(definitions).map((event) => {
      const { definition } = event.source;
      const task = tasksOf(definition).find((placed) => String(placed.path) === String(event.path))?.task;
      if (task === undefined) throw new Error(`${event.name}: no such task`);
      const { name: workflow, version } = definition;
      return { workflow, version, event, task, branches: branchesOf(definition, event.path) };
    });
    this.#handlers = definitions.eventHandlers.flatMap(({ definition }) => mdmHandlers(definition));
  }

  /** The highest version of `notifyWorkflow` that event handlers start; undefined when no handler starts it. */
  get notifyVersion(): number | undefined {
    const starts = this.#handlers.flatMap((handler) => handler.starts).filter(({ name }) => name === notifyWorkflow);
    return starts
      .map(({ version }) => version)
      .toSorted((one, other) => one - other)
      .at(-1);
  }

  /** Returns true unless the version is known to produce no event. */
  mayProduceEvent(workflow: string, version: number): boolean {
    return !this.#versions.has(keyOf(workflow, version)) || this.#sourcesOf(workflow, version).length > 0;
  }

  /**
   * Returns the requests with which event handlers start `notifyWorkflow` or `shareWorkflow` after an execution. The
   * list is empty when the workflow version produces no event, when no handler listens to the event (which then waits
   * in its queue), or when the condition of the handler is false.
   * @param scope values for expressions in the name and the payload of the event
   * @param ignoresConditions true when the scope does not contain the response from the back end, which a condition may
   *   test
   * @throws UnknownVersion when the definitions do not contain the version
   */
  startsAfter(origin: EventOrigin, scope: Scope, { ignoresConditions = false } = {}): StartWorkflowRequest[] {
    const { workflowName, workflowVersion } = origin;
    const reached = this.#sourcesOf(workflowName, workflowVersion).filter((source) => isReached(source, scope));
    return reached.flatMap(({ event, task }) => {
      const name = String(resolveTemplate(event.name, scope));
      const handlers = this.#handlers.filter((handler) => handler.event === name);
      if (handlers.length === 0) return [];
      const payload = payloadOf(task, scope, { ...origin, event: name });
      return handlers
        .filter(({ condition }) => ignoresConditions || (condition?.isTrueFor(payload) ?? true))
        .flatMap(({ starts }) => starts.map((start) => requestOf(start, payload)));
    });
  }

  /** Returns the EVENT tasks of a version. @throws UnknownVersion */
  #sourcesOf(workflow: string, version: number): EventSource[] {
    if (!this.#versions.has(keyOf(workflow, version))) throw new UnknownVersion(workflow, version);
    return this.#sources.filter((source) => source.workflow === workflow && source.version === version);
  }
}

function keyOf(workflow: string, version: number): string {
  return `${workflow} ${version}`;
}

/**
 * Returns the handler, as a list of one, with only those of its actions that start the MDM flow. The list is empty when
 * the handler is inactive or has no such action.
 */
function mdmHandlers({ active, event, condition, actions }: EventHandler): MdmHandler[] {
  const starts = actions
    .map((action) => action.start_workflow)
    .filter(({ name }) => name === notifyWorkflow || name === shareWorkflow);
  if (!active || starts.length === 0) return [];
  return [{ event, condition: condition === undefined ? undefined : new Condition(condition), starts }];
}

/** Returns the SWITCH tasks around the task at `path`. */
function branchesOf(definition: Pick<WorkflowDefinition, 'tasks'>, path: Path): EventSource['branches'] {
  return tasksOf(definition).flatMap(({ task, path: at }) => {
    const isAround = at.length < path.length && at.every((step, index) => step === path[index]);
    const [kind, value] = path.slice(at.length);
    if (!isAround || (kind !== 'decisionCases' && kind !== 'defaultCase')) return [];
    return [{ task, value: kind === 'decisionCases' ? String(value) : null }];
  });
}

/**
 * Returns false when a SWITCH takes a case that does not lead to the task. A SWITCH with a script is assumed to lead to
 * the task.
 */
function isReached({ branches }: EventSource, scope: Scope): boolean {
  return branches.every(({ task, value }) => {
    if (task.evaluatorType !== 'value-param') return true;
    const inputs = resolveTemplate(task.inputParameters ?? {}, scope) as Record<string, unknown>;
    const taken = String(inputs[task.expression ?? ''] ?? '');
    return value === null ? !Object.hasOwn(task.decisionCases ?? {}, taken) : taken === value;
  });
}

/** Returns the payload of an event: the input of its task and the fields that the engine adds (`Event.start`). */
function payloadOf(task: WorkflowTask, scope: Scope, origin: EventOrigin & { readonly event: string }): Scope {
  const { workflowId = null, workflowName, workflowVersion, correlationId = null, taskToDomain = {}, event } = origin;
  return {
    ...(resolveTemplate(task.inputParameters ?? {}, scope) as Record<string, unknown>),
    sink: resolveTemplate(task.sink, scope),
    asyncComplete: task.asyncComplete === true,
    workflowInstanceId: workflowId,
    workflowType: workflowName,
    workflowVersion,
    correlationId,
    taskToDomain,
    event_produced: event,
  };
}

/** Returns the request with which a handler starts an execution for a payload. */
function requestOf(start: StartAction, payload: Scope): StartWorkflowRequest {
  const { name, version, taskToDomain } = start;
  return {
    name,
    version,
    correlationId: String(resolveTemplate(start.correlationId, payload)),
    taskToDomain,
    input: resolveTemplate(start.input, payload) as Record<string, unknown>,
  };
}
