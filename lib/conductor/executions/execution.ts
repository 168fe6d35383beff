// Defines the types of executions as the engine returns them: rows of its index, whole executions, and their tasks.

import type { WorkflowStatus } from '../types.ts';

/** A row of the index (`WorkflowSummary`). After a crash of the engine, the row may lag behind the execution. */
export interface ExecutionSummary {
  readonly workflowId: string;
  readonly workflowType: string;
  readonly version: number;
  readonly correlationId?: string;
  readonly status: WorkflowStatus;
  /** Start time (RFC 3339); `endTime` has the same format. */
  readonly startTime: string;
  readonly endTime?: string;
  /**
   * The input as Java's `toString` (`{inbound={httpMethod=PATCH, …`) or as JSON, depending on the engine's
   * configuration; only its first 64 KiB. `isCut` tells whether it was truncated.
   */
  readonly input: string;
  /** The output in the same form. */
  readonly output: string;
  readonly reasonForIncompletion?: string;
}

/** A task of an execution. Times are in milliseconds since 1970; 0 = not yet. */
export interface ExecutedTask {
  readonly taskId: string;
  readonly taskType: string;
  readonly referenceTaskName: string;
  readonly status: string;
  /** Number of the attempt, from 0. */
  readonly retryCount?: number;
  /** True for a failed attempt after which the engine has scheduled another attempt, or has tried to. */
  readonly retried?: boolean;
  /** Number of polls that returned this attempt. */
  readonly pollCount?: number;
  /** Worker of the last poll. */
  readonly workerId?: string;
  /** Task domain; absent for the default pool. */
  readonly domain?: string;
  /** Delay of a postponed task until its next poll, in seconds. */
  readonly callbackAfterSeconds?: number;
  readonly scheduledTime?: number;
  readonly startTime?: number;
  readonly endTime?: number;
  readonly updateTime?: number;
  /** 0 = none. */
  readonly responseTimeoutSeconds?: number;
  readonly inputData?: Readonly<Record<string, unknown>>;
  readonly outputData?: Readonly<Record<string, unknown>>;
  readonly reasonForIncompletion?: string;
  /** Number of the iteration of a DO_WHILE, from 1; 0 outside loops. */
  readonly iteration?: number;
  /** Execution that a SUB_WORKFLOW task has started. */
  readonly subWorkflowId?: string;
}

/** An execution with its tasks. Times are in milliseconds since 1970; 0 = not yet. */
export interface WholeExecution {
  readonly workflowId: string;
  readonly workflowName: string;
  readonly workflowVersion: number;
  readonly status: WorkflowStatus;
  readonly startTime: number;
  readonly endTime: number;
  /** Time at which the execution was last resumed, retried or rerun. */
  readonly lastRetriedTime?: number;
  readonly correlationId?: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: Readonly<Record<string, unknown>>;
  readonly reasonForIncompletion?: string;
  readonly taskToDomain?: Readonly<Record<string, string>>;
  readonly tasks: readonly ExecutedTask[];
  /** The definition with which the execution was started; it may differ from the registered definition. */
  readonly workflowDefinition?: unknown;
}
