// Reads all executions of one change: the execution of the request, and all executions that events started after it.

import { Condition } from '#lib/conductor/definitions/condition.ts';
import type { EventHandler } from '#lib/conductor/definitions/schema.ts';
import { callerOf } from '#lib/conductor/executions/caller.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { ExecutionReader } from '#lib/conductor/executions/find-executions.ts';
import { isExecutionId, isQueryName } from '#lib/conductor/executions/names.ts';
import { isIndexEmpty } from './index-notice.ts';

/** An execution with its follow-up executions, or a placeholder for an execution that an event could have started. */
export interface RoundStep {
  readonly workflow: string;
  /** Undefined when the engine has no such execution. */
  readonly execution: WholeExecution | undefined;
  /** False when the condition of the event handler is false, so that the engine starts no execution. */
  readonly isExpected: boolean;
  /** Task domain or college; distinguishes several executions of one workflow. */
  readonly college: string | undefined;
  /** Name of the event that starts the execution; empty for the first step and when the event is unknown. */
  readonly event: string;
  readonly next: readonly RoundStep[];
}

/** All steps of a change. */
export interface Round {
  /** Usually only the execution of the request. */
  readonly first: readonly RoundStep[];
  /** True when the engine has more follow-up executions than are read, or has no index to find them in. */
  readonly isCut: boolean;
}

/** Maximum number of follow-up executions that are read. Each one costs a call to the engine. */
const maxFollowers = 20;
/** Maximum depth of follow-up executions. Their events can start further executions, so definitions may form a loop. */
const maxDepth = 5;

/** Returns all executions of the change that an execution belongs to. @throws EngineError */
export async function readRound(
  reader: ExecutionReader,
  execution: WholeExecution,
  handlers: readonly EventHandler[],
): Promise<Round> {
  const sourceId = sourceOf(execution);
  const source = sourceId === execution.workflowId ? execution : await readSource(reader, sourceId);
  const { executions: rows, total } = isQueryName(sourceId)
    ? await reader.search({ correlationIds: [sourceId] }, { offset: 0, size: maxFollowers })
    : { executions: [], total: 0 };
  // The execution might not be in the index yet, or the engine may have no index.
  const ids = new Set([...rows.map(({ workflowId }) => workflowId), execution.workflowId]);
  ids.delete(sourceId);
  const followers: WholeExecution[] = [];
  for (const id of ids) {
    const follower = id === execution.workflowId ? execution : await reader.readWhole(id);
    if (follower !== null) followers.push(follower);
  }
  const tree = new RoundTree(followers, handlers);
  const start = source === null ? [] : [tree.stepOf(source, '', 0)];
  const first = [...start, ...tree.others()];
  const isMissing = stepsOf(first).some((step) => step.execution === undefined);
  if (total === 0 && isMissing && (await isIndexEmpty(reader))) return { first: withoutMissing(first), isCut: true };
  return { first, isCut: total > maxFollowers };
}

function withoutMissing(steps: readonly RoundStep[]): RoundStep[] {
  return steps.flatMap((step) => (step.execution === undefined ? [] : { ...step, next: withoutMissing(step.next) }));
}

/**
 * Returns the id of the execution whose event started this execution, if the input names it. Otherwise, returns the id
 * of this execution.
 */
function sourceOf({ workflowId, input, correlationId }: WholeExecution): string {
  const named = input['sourceExecutionId'] ?? input['executionId'] ?? input['updateId'];
  return typeof named === 'string' && named === correlationId ? named : workflowId;
}

async function readSource(reader: ExecutionReader, id: string): Promise<WholeExecution | null> {
  return isExecutionId(id) ? reader.readWhole(id) : null;
}

/** Builds the steps from the events that the executions have produced. */
class RoundTree {
  readonly #rest: Set<WholeExecution>;
  readonly #handlers: readonly EventHandler[];

  constructor(followers: readonly WholeExecution[], handlers: readonly EventHandler[]) {
    this.#rest = new Set(followers.toSorted((one, other) => one.startTime - other.startTime));
    this.#handlers = handlers.filter(({ active }) => active);
  }

  stepOf(execution: WholeExecution, event: string, depth: number): RoundStep {
    const { workflowName: workflow, input } = execution;
    const next = depth === maxDepth ? [] : this.#next(execution, depth + 1);
    return { workflow, execution, isExpected: true, college: callerOf(input).college, event, next };
  }

  /**
   * Returns the steps of the follow-up executions whose event is unknown. They were started by the reconciler, or by a
   * different version of the handlers.
   */
  others(): RoundStep[] {
    const steps: RoundStep[] = [];
    for (const execution of this.#rest) {
      this.#rest.delete(execution);
      steps.push(this.stepOf(execution, '', 1));
    }
    return steps;
  }

  #next({ tasks }: WholeExecution, depth: number): RoundStep[] {
    // The output of an EVENT task is the payload of its event.
    const payloads = tasks.flatMap(({ taskType, status, outputData }) =>
      taskType === 'EVENT' && status === 'COMPLETED' && outputData !== undefined ? [outputData] : [],
    );
    return payloads.flatMap((payload) =>
      this.#handlers
        .filter(({ event }) => event === payload['event_produced'])
        .flatMap((handler) => this.#startedBy(handler, payload, depth)),
    );
  }

  #startedBy({ event, condition, actions }: EventHandler, payload: unknown, depth: number): RoundStep[] {
    let isExpected: boolean | undefined;
    const label = event.slice(event.lastIndexOf(':') + 1);
    return actions.flatMap(({ start_workflow: { name: workflow, taskToDomain } }) => {
      const started = this.#take(workflow, taskToDomain);
      if (started.length > 0) return started.map((follower) => this.stepOf(follower, label, depth));
      const college = Object.values(taskToDomain)[0];
      // Evaluated only when needed and only once, because an evaluation takes milliseconds.
      isExpected ??= condition === undefined || new Condition(condition).isTrueFor(payload);
      return [{ workflow, execution: undefined, isExpected, college, event: label, next: [] }];
    });
  }

  /** Returns the executions that a handler has started, and removes them from those that have no step yet. */
  #take(workflow: string, taskToDomain: Readonly<Record<string, string>>): WholeExecution[] {
    const started = [...this.#rest].filter(
      (follower) => follower.workflowName === workflow && domainsOf(follower.taskToDomain) === domainsOf(taskToDomain),
    );
    for (const follower of started) this.#rest.delete(follower);
    return started;
  }
}

function domainsOf(taskToDomain: Readonly<Record<string, string>> = {}): string {
  return JSON.stringify(Object.entries(taskToDomain).toSorted());
}

/** Returns all steps, each one before its follow-up steps. */
export function stepsOf(steps: readonly RoundStep[]): RoundStep[] {
  return steps.flatMap((step) => [step, ...stepsOf(step.next)]);
}
