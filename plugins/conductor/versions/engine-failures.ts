// When the engine failed last: what goes wrong meanwhile is not held against a workflow version.

import type { EngineCall } from '#lib/conductor/engine.ts';

export class EngineFailures {
  /** performance.now() */
  #last = Number.NEGATIVE_INFINITY;

  /** A call without an answer, or a start that the engine failed. Other 5xx are about one execution. */
  observe({ request: { method, path }, outcome }: EngineCall): void {
    const isStart = method === 'POST' && path === '/api/workflow';
    if (typeof outcome === 'string' || (isStart && outcome >= 500)) this.#last = performance.now();
  }

  /** Whether it failed at or after a moment. @param moment performance.now() */
  since(moment: number): boolean {
    return this.#last >= moment;
  }
}
