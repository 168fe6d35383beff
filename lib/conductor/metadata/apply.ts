// Makes the changes of a plan that somebody has seen, and no other.

import type { EngineError } from '../engine-error.ts';
import type { EventHandler, TaskDefinition, WorkflowDefinition } from '../definitions/schema.ts';
import type { MetadataApi } from './metadata-api.ts';
import { type Change, isSame, isSameChange, type Plan } from './plan.ts';

/** How a step of the plan ended. `found done`: somebody else has brought the engine there meanwhile. */
export type StepOutcome = 'done' | 'found done';

export interface Applied {
  /**
   * - `done`: the engine is as the plan said.
   * - `engine changed`: what is there now is not what the plan was made from; the step in question was not made.
   * - `interrupted`: told to stop between two steps.
   * - `failed`: the engine refused a step or cannot be reached.
   */
  readonly outcome: 'done' | 'engine changed' | 'interrupted' | 'failed';
  /** Steps that were made here or found done, in order. */
  readonly done: readonly Change[];
  /** For `engine changed`: what would have to be done now and was not in the plan. */
  readonly unseen: readonly Change[];
  /** For `failed`. */
  readonly error?: Error;
}

export interface ApplyOptions {
  readonly api: MetadataApi;
  /** Compares repository and engine anew. */
  readonly replan: () => Promise<Plan>;
  /** Told of each step as it ends. */
  readonly onStep: (change: Change, outcome: StepOutcome) => void;
  /** Stops between two steps. */
  readonly signal: AbortSignal;
}

/**
 * Each step is one call of the engine, and the engine is compared anew before each: after an interruption at any point the rest is
 * what the next plan shows, and of two who apply the same at once each finds done what the other did. The engine cannot compare and
 * write in one call, so a last look at the end finds a write that crossed ours.
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
      const isOpen = rest.changes.some((other) => isSame(other, change));
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

/** What a later plan would do that an earlier one did not say. */
function unseenIn(later: Plan, earlier: Plan): Change[] {
  return later.changes.filter((change) => !earlier.changes.some((other) => isSameChange(change, other)));
}

/** A refused call may be the loser of a race that somebody else has won for us. */
async function makeStep(change: Change, api: MetadataApi, replan: () => Promise<Plan>): Promise<StepOutcome> {
  try {
    await send(change, api);
    return 'done';
  } catch (error) {
    if ((error as EngineError).kind !== 'refused') throw error;
    const { changes } = await replan();
    if (changes.some((other) => isSame(other, change))) throw error;
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
