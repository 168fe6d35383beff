// Records when the engine last failed, so that failures at that time do not count against a workflow version.

import type { EngineCall } from '#lib/conductor/engine.ts';
import { startOutcomeOf } from '#lib/conductor/start-outcome.ts';

/** Time of the last failure of the engine. */
export class EngineFailures {
  /** performance.now() */
  #last = Number.NEGATIVE_INFINITY;

  /**
   * Notes a call. A start fails as {@link startOutcomeOf} returns it. Any other call without a response is a failure;
   * its 5xx responses concern a single execution.
   */
  observe(call: EngineCall): void {
    const start = startOutcomeOf(call);
    const failed = start === undefined ? typeof call.outcome === 'string' : start === 'failure';
    if (failed) this.#last = performance.now();
  }

  /**
   * Returns whether the engine failed at or after a moment.
   * @param moment performance.now()
   */
  since(moment: number): boolean {
    return this.#last >= moment;
  }
}
