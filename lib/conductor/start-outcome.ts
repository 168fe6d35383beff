// Classifies calls that start an execution by what they show about the health of the engine.

import type { EngineCall } from './engine.ts';

/**
 * For a call that starts an execution, returns its outcome; undefined for any other call.
 * - `failure`: the engine did not respond, or responded with 5xx.
 * - `inconclusive`: the call ended at its own deadline, which was shorter than `conclusiveAfterMs`. The engine may be
 *   healthy.
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
