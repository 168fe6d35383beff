// Defines the types of Conductor's API, reduced to the fields that the product uses, under Conductor's names.

/** Status of an execution (`Workflow.WorkflowStatus`). */
export type WorkflowStatus = 'RUNNING' | 'COMPLETED' | 'FAILED' | 'TIMED_OUT' | 'TERMINATED' | 'PAUSED';

/** Body of `POST /api/workflow`. The version is required, because otherwise the engine would start the latest one. */
export interface StartWorkflowRequest {
  name: string;
  version: number;
  correlationId?: string;
  input: Record<string, unknown>;
  taskToDomain?: Record<string, string>;
}

/**
 * Response of `GET /api/workflow/{id}/status`, which has no `reasonForIncompletion`. This type also contains the fields
 * of a whole execution that the router reads.
 */
export interface ExecutionStatus {
  workflowId: string;
  status: WorkflowStatus;
  output?: Record<string, unknown>;
  reasonForIncompletion?: string;
  /** Time at which the execution was last resumed, retried or rerun, in milliseconds since 1970; 0 = never. */
  lastRetriedTime?: number;
}

/** A task as a poll returns it (Conductor's `Task`). Fields that are not listed here are kept. */
export interface Task {
  taskId: string;
  taskDefName: string;
  taskType: string;
  referenceTaskName: string;
  workflowInstanceId: string;
  domain?: string;
  inputData?: Record<string, unknown>;
  /** Number of polls that returned the task, including this one. A retry or a rerun starts again at 0. */
  pollCount?: number;
  /** Output and reason of the last result, if its status was IN_PROGRESS. */
  outputData?: Record<string, unknown>;
  reasonForIncompletion?: string;
  [field: string]: unknown;
}

/** Body of `POST /api/tasks` (Conductor's `TaskResult`): the result that a worker reports. */
export interface TaskResult {
  taskId: string;
  workflowInstanceId: string;
  status: 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'FAILED_WITH_TERMINAL_ERROR';
  outputData?: Record<string, unknown>;
  reasonForIncompletion?: string;
  callbackAfterSeconds?: number;
  workerId?: string;
  /**
   * When true, the task stays with its worker. The engine then ignores all other fields, and the status may be missing.
   */
  extendLease?: boolean;
  [field: string]: unknown;
}
