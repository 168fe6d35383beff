// Defines the interface for finding executions by criteria other than their id, in the engine's index or the router's
// records.

import { EngineError } from '../engine-error.ts';
import type { WorkflowStatus } from '../types.ts';
import type { ExecutionSummary, WholeExecution } from './execution.ts';

/** Criteria of a search; all must hold. */
export interface ExecutionQuery {
  /** A workflow name; a final `*` matches any suffix. */
  readonly workflowType?: string;
  /** The execution must have one of these states. */
  readonly statuses?: readonly WorkflowStatus[];
  readonly correlationIds?: readonly string[];
  /**
   * Bounds of the start time and the end time, in milliseconds since 1970. SQLite compares whole seconds, so the times
   * in the result may exceed the bounds by up to one second.
   */
  readonly startedAfter?: number;
  readonly startedBefore?: number;
  readonly endedAfter?: number;
  readonly endedBefore?: number;
}

/** Selects a part of the result. */
export interface Page {
  readonly offset: number;
  readonly size: number;
  /** Default: `oldest`. */
  readonly order?: Order;
}

/** Sort order: `oldest` and `newest` by start time, `first-ended` by end time. */
export type Order = 'oldest' | 'newest' | 'first-ended';

/** A page of executions, with the size of the response. */
export interface FoundExecutions {
  readonly executions: readonly ExecutionSummary[];
  /**
   * Number of executions on all pages. In a search of the router's records, this is a lower bound, because the exact
   * number would require reading all records.
   */
  readonly total: number;
  /** Number of bytes received. */
  readonly bytes: number;
}

/** Options of {@link ExecutionIndex.correlated}. */
export interface CorrelatedOptions {
  /** Default: false, because tasks repeat input and output. */
  readonly includeTasks?: boolean;
  /**
   * Only executions that started after this time (milliseconds since 1970), by the clocks of the engine and the
   * routers.
   */
  readonly startedAfter?: number;
  /**
   * Common deadline of all calls to the engine, in milliseconds. Default: each call has the engine client's own
   * deadline.
   */
  readonly timeoutMs?: number;
  /** Strings of the executions are truncated to about this many bytes. Default: not truncated. */
  readonly longestString?: number;
}

/** Finds executions. Every call throws an EngineError when the engine or the records cannot be read. */
export interface ExecutionIndex {
  /** Returns a page of the matching executions. */
  search(query: ExecutionQuery, page: Page): Promise<FoundExecutions>;
  /** Returns the number of matching executions. */
  count(query: ExecutionQuery): Promise<number>;
  /** Returns the names of the workflows of the matching executions. */
  workflows(query: ExecutionQuery): Promise<string[]>;
  /** Returns the executions of a workflow with this correlation id, oldest first. */
  correlated(name: string, correlationId: string, options?: CorrelatedOptions): Promise<WholeExecution[]>;
  /**
   * Records the end of each execution that ended without a router noticing. Until its end is recorded, such an
   * execution counts as open.
   * @param onBatch called after each batch; a result of false stops the call
   */
  recordEnds(onBatch: () => Promise<boolean>): Promise<void>;
  /** Records that an execution has ended with `status`. @returns true when this changed the index */
  recordEnd(executionId: string, status: WorkflowStatus): Promise<boolean>;
  /** Removes executions that the engine no longer has. */
  forget(executionIds: readonly string[]): Promise<void>;
}

/** Thrown when executions cannot be searched: the engine has no index, and there are no readable records in Redis. */
export class NoExecutionIndex extends EngineError {
  constructor(message = noIndexMessage, cause?: unknown) {
    super('unreachable', message, { cause });
  }
}

/** States what is missing and how to provide it. */
const noIndexMessage =
  'the engine has no index of executions (conductor.indexing.enabled=false): set redis.url, so that routers keep records of them in Redis, or use an engine with an index';
