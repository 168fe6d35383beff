// An in-memory fake of the engine's executions and index, limited to the calls of the reconciler.

import { ExecutionApi, type WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import type { EngineRequest, EngineResponse } from '#lib/conductor/send-call.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';

export interface EngineIndex {
  readonly api: ExecutionApi;
  /** Start requests received through the API. */
  readonly started: StartWorkflowRequest[];
  /** Adds an execution or replaces the one with the same id. */
  put(execution: WholeExecution): void;
}

export function createEngineIndex(): EngineIndex {
  const executions = new Map<string, WholeExecution>();
  const started: StartWorkflowRequest[] = [];
  const answer = (value: unknown, status = 200): EngineResponse => ({
    status,
    headers: {},
    body: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
  });
  const call = async ({ method, path, body }: EngineRequest): Promise<EngineResponse> => {
    const { pathname, searchParams } = new URL(path, 'http://engine');
    if (pathname === '/api/workflow/search') return answer(search([...executions.values()], searchParams));
    if (method === 'POST' && pathname === '/api/workflow') {
      started.push(JSON.parse(String(body)) as StartWorkflowRequest);
      return answer(`started-${started.length}`);
    }
    const found = executions.get(pathname.split('/').at(-1) ?? '');
    return method === 'GET' && found !== undefined ? answer(found) : answer({}, 404);
  };
  return { api: new ExecutionApi(call), started, put: (execution) => executions.set(execution.workflowId, execution) };
}

/** Evaluates one condition of a query. @throws Error for a condition that the reconciler does not use */
function holds(execution: WholeExecution, condition: string): boolean {
  const [, field = '', operator = '', value = ''] = /^(\w+) (=|<|>|IN) (.*)$/.exec(condition) ?? [];
  const { workflowName: workflowType, status, startTime, endTime, correlationId = '' } = execution;
  const fields: Record<string, string | number> = { workflowType, status, startTime, endTime, correlationId };
  const actual = fields[field];
  if (actual === undefined) throw new Error(`unexpected condition: ${condition}`);
  if (operator === 'IN') return value.slice(1, -1).split(',').includes(String(actual));
  if (operator === '=') return value.endsWith('*') ? String(actual).startsWith(value.slice(0, -1)) : actual === value;
  return operator === '<' ? Number(actual) < Number(value) : Number(actual) > Number(value);
}

function search(executions: readonly WholeExecution[], parameters: URLSearchParams): object {
  const conditions = (parameters.get('query') ?? '').split(' AND ');
  const [field] = (parameters.get('sort') ?? '').split(':') as ['startTime' | 'endTime'];
  const offset = Number(parameters.get('start'));
  const found = executions
    .filter((execution) => conditions.every((condition) => holds(execution, condition)))
    .toSorted((one, other) => one[field] - other[field]);
  const results = found.slice(offset, offset + Number(parameters.get('size'))).map((execution) => ({
    ...execution,
    workflowType: execution.workflowName,
    version: execution.workflowVersion,
    startTime: new Date(execution.startTime).toISOString(),
    endTime: new Date(execution.endTime).toISOString(),
    input: JSON.stringify(execution.input),
    output: JSON.stringify(execution.output),
  }));
  return { results, totalHits: found.length };
}
