// An execution in the format of the engine's API, with the fields that tests read.

/** A task of an execution. */
export interface EngineTask {
  readonly taskId: string;
  readonly taskType: string;
  readonly referenceTaskName: string;
  readonly status: string;
  readonly reasonForIncompletion?: string;
  readonly inputData: Record<string, unknown>;
  readonly outputData: Record<string, unknown>;
}

/** An execution; tasks are there when the call asks for them. */
export interface EngineExecution {
  readonly workflowId: string;
  readonly workflowVersion: number;
  readonly status: string;
  readonly correlationId?: string;
  readonly reasonForIncompletion?: string;
  readonly event?: string;
  readonly input: Record<string, unknown>;
  readonly output: Record<string, unknown>;
  readonly taskToDomain?: Record<string, string>;
  readonly tasks: readonly EngineTask[];
}
