// A client's own executions, found again in the engine; to everybody else they do not exist.

import { setTimeout as pause } from 'node:timers/promises';
import type { ExecutionApi, WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import { type Inbound, reconcilerRoute } from '#lib/envelope/inbound.ts';
import { Problem } from '#lib/problem/problem.ts';

/** The fields of a request that are in clear in every execution, encrypted or not. */
export type ClearInbound = Pick<Inbound, 'httpMethod' | 'clientId' | 'requestId' | 'route'>;

/** As the engine makes them: nothing else is ever asked for. */
const idPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** An id that is another client's takes longer to look up than one that does not exist: both are answered this late. */
const unknownAfterMs = 50;

/** The request behind an execution. */
export function inboundOf({ input }: Pick<WholeExecution, 'input'>): ClearInbound {
  return (input['inbound'] ?? {}) as ClearInbound;
}

/** True for GET and HEAD: repeating it harms nobody. */
export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

export class ClientExecutions {
  readonly #api: Pick<ExecutionApi, 'readWhole'>;
  readonly #workflows: ReadonlySet<string>;

  /** @param workflows names of those that clients start; whatever else runs in the engine is nobody's */
  constructor(api: Pick<ExecutionApi, 'readWhole'>, workflows: ReadonlySet<string>) {
    this.#api = api;
    this.#workflows = workflows;
  }

  /**
   * An execution of this client, without its tasks.
   * @throws Problem `execution-unknown` (404), EngineError
   */
  async find(executionId: string, clientId: string | undefined): Promise<WholeExecution> {
    const late = pause(unknownAfterMs);
    const execution = idPattern.test(executionId)
      ? await this.#api.readWhole(executionId, { includeTasks: false })
      : null;
    if (execution !== null && this.#isOf(execution, clientId)) return execution;
    await late;
    throw new Problem('execution-unknown');
  }

  #isOf(execution: WholeExecution, clientId: string | undefined): boolean {
    const { clientId: owner, route } = inboundOf(execution);
    return (
      clientId !== undefined &&
      owner === clientId &&
      this.#workflows.has(execution.workflowName) &&
      route !== reconcilerRoute
    );
  }
}
