// Follows executions that continue after a 202 response. Each execution keeps its admission permit for as long as it
// would have kept it if the client had waited.

import type { Registry } from 'prom-client';
import { observeGauge } from '#lib/telemetry/observed-gauge.ts';
import type { ExecutionStatus } from '#lib/conductor/types.ts';
import type { BackEndResponse } from '#lib/envelope/outbound.ts';
import { endingOfError, type ExecutionEnding } from '../execution/outcome.ts';
import { awaitEnd, type ExecutionDependencies } from '../execution/executions.ts';

/** The router did not observe how the execution ended, so the execution counts neither for nor against the back end. */
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
   * @param timeoutMs remaining time for which a client would have waited, in milliseconds; a draining router does not
   *   wait
   * @param responseOf returns the client's response, or throws the problem that the client gets instead
   */
  async follow(
    executionId: string,
    { timeoutMs, responseOf }: { timeoutMs: number; responseOf: (ended: ExecutionStatus) => BackEndResponse },
  ): Promise<ExecutionEnding> {
    this.#size++;
    const wait = { timeoutMs, signals: [this.#dependencies.draining] };
    const ended = await awaitEnd(executionId, wait, this.#dependencies).catch(() => null);
    this.#size--;
    // A client that does not wait may have started a long execution, so a timeout does not count as a failure.
    if (ended === null) return unobserved;
    try {
      return { problem: undefined, status: responseOf(ended).status, clientGone: false };
    } catch (error) {
      return endingOfError(error);
    }
  }
}
