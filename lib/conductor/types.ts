// Types of Conductor's API, reduced to the fields that the product uses. The names are Conductor's.

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
 * Response of `GET /api/workflow/{id}/status`, which has no `reasonForIncompletion`, and the fields of a whole
 * execution that the router reads.
 */
export interface ExecutionStatus {
  workflowId: string;
  status: WorkflowStatus;
  output?: Record<string, unknown>;
  reasonForIncompletion?: string;
  /** Time at which it was last resumed, retried or rerun, in milliseconds since 1970; 0 = never. */
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
  /** Polls that took the task, this one included. A retry or a rerun starts again at 0. */
  pollCount?: number;
  /** Output and reason of the last result, when that was IN_PROGRESS. */
  outputData?: Record<string, unknown>;
  reasonForIncompletion?: string;
  [field: string]: unknown;
}

/** Body of `POST /api/tasks` (Conductor's `TaskResult`): what a worker reports. */
export interface TaskResult {
  taskId: string;
  workflowInstanceId: string;
  status: 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'FAILED_WITH_TERMINAL_ERROR';
  outputData?: Record<string, unknown>;
  reasonForIncompletion?: string;
  callbackAfterSeconds?: number;
  workerId?: string;
  /** True: the task stays with its worker. The engine ignores all other fields, and the status may be missing. */
  extendLease?: boolean;
  [field: string]: unknown;
}
