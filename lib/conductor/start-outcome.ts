// What a call says about the ability of the engine to start executions.

import type { EngineCall } from './engine.ts';

/**
 * Returns the outcome of a start for the engine; undefined for any other call.
 * - `failure`: no response, or a 5xx.
 * - `inconclusive`: the start ended at a deadline of its request that is too short to tell (`conclusiveAfterMs`). The
 *   engine may be healthy.
 */
export function startOutcomeOf({
  request: { method, path },
  outcome,
  endedEarly,
}: EngineCall): 'success' | 'failure' | 'inconclusive' | undefined {
  if (method !== 'POST' || path !== '/api/workflow') return undefined;
  if (endedEarly === true) return 'inconclusive';
  return typeof outcome === 'string' || outcome >= 500 ? 'failure' : 'success';
}
