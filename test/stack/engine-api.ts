// A client of the engine's HTTP API for tests, and the types of tasks and executions with the fields that tests read.

import { call, type RouterAnswer } from './client.ts';

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

/** An execution; it has tasks when the call requests them. */
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

export interface EngineApi {
  /** Sends a GET to a path below `/api` and returns the body. @throws Error for any status other than 2xx */
  get<T>(path: string): Promise<T>;
  /** Sends a call with any method; `body` is sent as JSON. @throws Error for any status other than 2xx */
  send(method: string, path: string, body?: unknown): Promise<RouterAnswer>;
  /** Returns an execution with its tasks. */
  execution(id: string): Promise<EngineExecution>;
}

/** Creates a client. @param url URL of the engine */
export function engineApi(url: string): EngineApi {
  const send: EngineApi['send'] = async (method, path, body) => {
    const json = { json: body };
    const answer = await call(`${url}/api${path}`, { method, ...(body === undefined ? {} : json) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  };
  const get = async <T>(path: string) => (await send('GET', path)).json<T>();
  return { get, send, execution: (id) => get(`/workflow/${id}?includeTasks=true`) };
}
