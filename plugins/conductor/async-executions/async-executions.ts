// Executions that continue after a 202 response: each keeps its permit of admission control for as long as a waiting
// client would have held it.

import type { Registry } from 'prom-client';
import { observeGauge } from '#lib/telemetry/observed-gauge.ts';
import { hasResponse } from '#lib/conductor/executions/reconciler-terminations.ts';
import type { ExecutionStatus } from '#lib/conductor/types.ts';
import type { ExecutionEnding } from '../execution/outcome.ts';
import { failureOf } from '../execution/response.ts';
import { awaitEnd, type ExecutionDependencies } from '../execution/executions.ts';

/** The end was not observed, so it counts neither for nor against the back end. */
const unobserved: ExecutionEnding = { problem: undefined, clientGone: true };

/** Dependencies of {@link AsyncExecutions}. */
export type AsyncDependencies = Pick<ExecutionDependencies, 'waiters' | 'engine' | 'recorder' | 'draining'>;

/** Follows executions to their end after a 202 response. */
export class AsyncExecutions {
  readonly #dependencies: AsyncDependencies;
  #size = 0;

  constructor(dependencies: AsyncDependencies, metrics: Registry) {
    this.#dependencies = dependencies;
    const help = 'Asynchronous executions (202) that still hold their admission permit';
    observeGauge(metrics, { name: 'router_async_executions', help }, () => this.#size);
  }

  /**
   * Waits for the end of an execution and returns its outcome. Never rejects.
   * @param timeoutMs the rest of the time that a client would have waited, in milliseconds; a draining router does not
   *   wait
   */
  async follow(
    executionId: string,
    { timeoutMs, readOnly }: { timeoutMs: number; readOnly: boolean },
  ): Promise<ExecutionEnding> {
    this.#size++;
    try {
      const ended = await awaitEnd(
        executionId,
        { timeoutMs, signals: [this.#dependencies.draining] },
        this.#dependencies,
      );
      // A client that does not wait may have started a long execution: a timeout is no failure.
      if (ended === null) return unobserved;
      if (hasResponse(ended)) return { problem: undefined, status: statusOf(ended), clientGone: false };
      return { problem: failureOf(ended, { readOnly }).code, clientGone: false };
    } catch {
      return unobserved;
    } finally {
      this.#size--;
    }
  }
}

/** Returns the status of the back end's response. It is not encrypted, even in encrypted outputs. */
function statusOf({ output }: ExecutionStatus): number | undefined {
  const { statusCodeValue } = (output?.['outbound'] ?? {}) as { statusCodeValue?: unknown };
  return typeof statusCodeValue === 'number' ? statusCodeValue : undefined;
}
