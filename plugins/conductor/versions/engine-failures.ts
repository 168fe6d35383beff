// Records when the engine last failed, so that failures at that time do not count against a workflow version.

import type { EngineCall } from '#lib/conductor/engine.ts';

/** Time of the last failure of the engine. */
export class EngineFailures {
  /** performance.now() */
  #last = Number.NEGATIVE_INFINITY;

  /**
   * Notes a call. A call without a response is a failure, and so is a start that gets a 5xx. Other 5xx responses
   * concern a single execution.
   */
  observe({ request: { method, path }, outcome }: EngineCall): void {
    const isStart = method === 'POST' && path === '/api/workflow';
    if (typeof outcome === 'string' || (isStart && outcome >= 500)) this.#last = performance.now();
  }

  /**
   * Returns whether the engine failed at or after a moment.
   * @param moment performance.now()
   */
  since(moment: number): boolean {
    return this.#last >= moment;
  }
}
