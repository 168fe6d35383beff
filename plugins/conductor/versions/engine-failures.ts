// Records when the engine last failed, so that failures at that time do not count against a workflow version.

import type { EngineCall } from '#lib/conductor/engine.ts';
import { startOutcomeOf } from '#lib/conductor/start-outcome.ts';

/** Time of the last failure of the engine. */
export class EngineFailures {
  /** performance.now() */
  #last = Number.NEGATIVE_INFINITY;

  /**
   * Records a call. For calls that start an execution, {@link startOutcomeOf} decides whether the engine failed. Any
   * other call counts as a failure only if it got no response, because a 5xx response concerns a single execution.
   */
  observe(call: EngineCall): void {
    const start = startOutcomeOf(call);
    const failed = start === undefined ? typeof call.outcome === 'string' : start === 'failure';
    if (failed) this.#last = performance.now();
  }

  /**
   * Returns whether the engine has failed at or after the given time.
   * @param moment performance.now()
   */
  since(moment: number): boolean {
    return this.#last >= moment;
  }
}
