// Applies the changes of a confirmed plan, and no other changes.

import type { EngineError } from '../engine-error.ts';
import type { EventHandler, TaskDefinition, WorkflowDefinition } from '../definitions/schema.ts';
import type { MetadataApi } from './metadata-api.ts';
import { type Change, isSameDefinition, isSameChange, type Plan } from './plan.ts';

/** Outcome of a step. `found done`: another run had already made the change. */
export type StepOutcome = 'done' | 'found done';

/** The result of {@link applyPlan}. */
export interface Applied {
  /**
   * - `done`: the engine has the definitions of the plan.
   * - `engine changed`: the engine has changed since the plan was made; no further step was executed.
   * - `interrupted`: stopped between two steps.
   * - `failed`: the engine refused a step or was unreachable.
   */
  readonly outcome: 'done' | 'engine changed' | 'interrupted' | 'failed';
  /** Completed steps in order, including steps with the outcome `found done`. */
  readonly done: readonly Change[];
  /** For `engine changed`: necessary changes that are not in the plan. */
  readonly unseen: readonly Change[];
  /** The reason for `failed`. */
  readonly error?: Error;
}

/** Options of {@link applyPlan}. */
export interface ApplyOptions {
  readonly api: MetadataApi;
  /** Compares the repository with the engine again. */
  readonly replan: () => Promise<Plan>;
  /** Called at the end of each step. */
  readonly onStep: (change: Change, outcome: StepOutcome) => void;
  /** Stops the run between two steps. */
  readonly signal: AbortSignal;
}

/**
 * Applies a plan. Each step is one call to the engine, and before each step the repository is compared with the engine
 * again. After an interruption, the next plan contains the remaining steps. When two runs are concurrent, each reports
 * the steps of the other run as `found done`. The engine has no compare-and-set, so a final comparison detects
 * concurrent writes.
 * @throws EngineError when the engine cannot be read before the first step
 */
export async function applyPlan(plan: Plan, { api, replan, onStep, signal }: ApplyOptions): Promise<Applied> {
  const done: Change[] = [];
  const end = (outcome: Applied['outcome'], rest: Partial<Applied> = {}) => ({ outcome, done, unseen: [], ...rest });
  let rest = await replan();
  for (const change of plan.changes) {
    const unseen = unseenIn(rest, plan);
    if (unseen.length > 0) return end('engine changed', { unseen });
    if (signal.aborted) return end('interrupted');
    try {
      const isOpen = rest.changes.some((other) => isSameDefinition(other, change));
      const outcome = isOpen ? await makeStep(change, api, replan) : 'found done';
      done.push(change);
      onStep(change, outcome);
      rest = await replan();
    } catch (error) {
      return end('failed', { error: error as Error });
    }
  }
  return rest.changes.length === 0 ? end('done') : end('engine changed', { unseen: rest.changes });
}

/** Returns the changes of the later plan that the earlier plan does not contain. */
function unseenIn(later: Plan, earlier: Plan): Change[] {
  return later.changes.filter((change) => !earlier.changes.some((other) => isSameChange(change, other)));
}

/** Executes a step. When the engine refuses the call, another run may have made the same change first. */
async function makeStep(change: Change, api: MetadataApi, replan: () => Promise<Plan>): Promise<StepOutcome> {
  try {
    await send(change, api);
    return 'done';
  } catch (error) {
    if ((error as EngineError).kind !== 'refused') throw error;
    const { changes } = await replan();
    if (changes.some((other) => isSameDefinition(other, change))) throw error;
    return 'found done';
  }
}

function send({ action, kind, name, version, definition }: Change, api: MetadataApi): Promise<void> {
  const exists = action === 'change';
  switch (kind) {
    case 'task type':
      return action === 'remove' ? api.deleteTaskDef(name) : api.putTaskDef(definition as TaskDefinition, exists);
    case 'workflow':
      return action === 'remove'
        ? api.deleteWorkflow(name, version ?? 0)
        : api.putWorkflow(definition as WorkflowDefinition, exists);
    case 'event handler':
      return action === 'remove'
        ? api.deleteEventHandler(name)
        : api.putEventHandler(definition as EventHandler, exists);
  }
}
