// How executions are found that are not known by id: by the engine's index, or by records of the router.

import { EngineError } from '../engine-error.ts';
import type { ExecutionQuery, FoundExecutions, Page, WholeExecution } from './execution-api.ts';

/** Options of {@link ExecutionIndex.correlated}. */
export interface CorrelatedOptions {
  /** Default false: tasks repeat input and output. */
  readonly includeTasks?: boolean;
  /** Deadline of one call to the engine, in milliseconds; has an effect only when it is shorter than the default one. */
  readonly timeoutMs?: number;
}

/** Finds executions. Every call throws an EngineError when it cannot tell. */
export interface ExecutionIndex {
  /** Returns a page of the executions that match. */
  search(query: ExecutionQuery, page: Page): Promise<FoundExecutions>;
  /** Returns the number of executions that match. */
  count(query: ExecutionQuery): Promise<number>;
  /** Returns the executions of a workflow with this correlation id, oldest first. */
  correlated(name: string, correlationId: string, options?: CorrelatedOptions): Promise<WholeExecution[]>;
  /** Removes executions that the engine no longer has. */
  forget(executionIds: readonly string[]): Promise<void>;
}

/** Nothing can find executions: the engine has no index, and there are no records in Redis or they cannot be read. */
export class NoExecutionIndex extends EngineError {
  constructor(message = noIndexMessage, cause?: unknown) {
    super('unreachable', message, { cause });
  }
}

/** What is missing, and what provides it. */
const noIndexMessage =
  'the engine has no index of executions (conductor.indexing.enabled=false): set redis.url, so that routers keep records of them in Redis, or use an engine with an index';
