// Executions that go on behind a 202: each keeps its place in admission control as long as a waiting client would have.

import { Gauge, type Registry } from 'prom-client';
import type { ExecutionStatus } from '#lib/conductor/types.ts';
import type { ExecutionEnding } from '../../../gateway/plugin-api/plugin-api.ts';
import { failureOf } from '../execution/response.ts';
import { awaitEnd, type ExecutionDependencies } from '../execution/executions.ts';

/** Nobody saw it end: it says nothing about the back end. */
const unseen: ExecutionEnding = { problem: undefined, clientGone: true };

export class AsyncExecutions {
  readonly #parts: Pick<ExecutionDependencies, 'waits' | 'engine' | 'executions' | 'draining'>;
  #size = 0;

  constructor(parts: Pick<ExecutionDependencies, 'waits' | 'engine' | 'executions' | 'draining'>, metrics: Registry) {
    this.#parts = parts;
    const size = () => this.#size;
    new Gauge({
      name: 'router_deferred_executions',
      help: 'Executions behind a 202 that keep their place in admission control',
      registers: [metrics],
      collect() {
        this.set(size());
      },
    });
  }

  /**
   * Sees how an execution ends. Never rejects.
   * @param budgetMs what is left of the time that a client would have waited; a router that drains does not wait
   */
  async follow(
    executionId: string,
    { budgetMs, readOnly }: { budgetMs: number; readOnly: boolean },
  ): Promise<ExecutionEnding> {
    this.#size++;
    try {
      const ended = await awaitEnd(executionId, { budgetMs, signals: [this.#parts.draining] }, this.#parts);
      // A client that does not wait may well have asked for something long.
      if (ended === null) return unseen;
      if (ended.status === 'COMPLETED') return { problem: undefined, status: statusOf(ended), clientGone: false };
      return { problem: failureOf(ended, { readOnly }).code, clientGone: false };
    } catch {
      return unseen;
    } finally {
      this.#size--;
    }
  }
}

/** It is in clear in every output, encrypted or not. */
function statusOf({ output }: ExecutionStatus): number | undefined {
  const { statusCodeValue } = (output?.['outbound'] ?? {}) as { statusCodeValue?: unknown };
  return typeof statusCodeValue === 'number' ? statusCodeValue : undefined;
}
