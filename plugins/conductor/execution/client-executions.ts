// Looks up executions for the client that started them; other clients get a 404.

import { setTimeout as pause } from 'node:timers/promises';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { type Inbound, reconcilerRoute } from '#lib/envelope/inbound.ts';
import { Problem } from '#lib/problem/problem.ts';

/** The fields of a request that are never encrypted in the execution's input. */
export type ClearInbound = Pick<Inbound, 'httpMethod' | 'clientId' | 'requestId' | 'route'>;

/** The engine's execution ids (UUID). Other ids are not looked up. */
const idPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/**
 * Minimum time until a 404, in milliseconds. Without this minimum, the response time would reveal whether an execution
 * of another client has this id.
 */
const unknownDelayMs = 50;

/** Returns the request of an execution. */
export function inboundOf({ input }: Pick<WholeExecution, 'input'>): ClearInbound {
  return (input['inbound'] ?? {}) as ClearInbound;
}

/** Finds executions by id and client. */
export class ClientExecutions {
  readonly #api: Pick<ExecutionApi, 'readWhole'>;
  readonly #workflows: ReadonlySet<string>;

  /** @param workflows names of the workflows that clients start; no client owns executions of other workflows */
  constructor(api: Pick<ExecutionApi, 'readWhole'>, workflows: ReadonlySet<string>) {
    this.#api = api;
    this.#workflows = workflows;
  }

  /**
   * Returns an execution of this client, without its tasks.
   * @throws Problem `execution-unknown` (404), EngineError
   */
  async find(executionId: string, clientId: string | undefined): Promise<WholeExecution> {
    const delay = pause(unknownDelayMs);
    const execution = idPattern.test(executionId)
      ? await this.#api.readWhole(executionId, { includeTasks: false })
      : null;
    if (execution !== null && this.#isOf(execution, clientId)) return execution;
    await delay;
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
