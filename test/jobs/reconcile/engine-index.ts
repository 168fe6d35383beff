// An in-memory fake of the engine's executions and index, limited to the calls of the reconciler.

import type { ExecutedTask, WholeExecution } from '#lib/conductor/executions/execution.ts';
import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import type { EngineRequest, EngineResponse } from '#lib/conductor/send-call.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';

export function createEngineIndex() {
  const executions = new Map<string, WholeExecution>();
  const started: StartWorkflowRequest[] = [];
  const answer = (value: unknown, status = 200): EngineResponse => ({
    status,
    headers: {},
    body: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
  });
  const refusal = (status: number, message: string) => answer({ status, message, retryable: false }, status);
  const call = async (request: EngineRequest): Promise<EngineResponse> => {
    await engine.beforeCall(request);
    const { method, path, body } = request;
    const { pathname, searchParams } = new URL(path, 'http://engine');
    if (pathname === '/api/workflow/search') return answer(search([...executions.values()], searchParams));
    if (method === 'POST' && pathname === '/api/workflow') {
      started.push(JSON.parse(String(body)) as StartWorkflowRequest);
      const workflowId = `started-${started.length}`;
      const request = started.at(-1) as StartWorkflowRequest;
      engine.put({ ...startedBy(request, workflowId), ...engine.outcomeOf(request) });
      return answer(workflowId);
    }
    const [, name, correlationId] = /^\/api\/workflow\/([^/]+)\/correlated\/([^/]+)$/.exec(pathname) ?? [];
    if (name !== undefined)
      return answer(
        [...executions.values()].filter((each) => each.workflowName === name && each.correlationId === correlationId),
      );
    const id = pathname.split('/').find((part) => executions.has(part)) ?? '';
    const found = executions.get(id);
    if (found === undefined) return answer({}, 404);
    if (method === 'DELETE') {
      if (found.status === 'COMPLETED') return refusal(409, 'Cannot terminate a COMPLETED workflow.');
      if (found.status === 'TERMINATED') return answer('');
      const reasonForIncompletion = searchParams.get('reason') ?? '';
      executions.set(id, {
        ...withoutOpenTasks(found),
        status: 'TERMINATED',
        endTime: engine.now?.() ?? found.startTime + 1,
        reasonForIncompletion,
      });
    }
    if (pathname.includes('/decide/') && hasEnded(found)) executions.set(id, withoutOpenTasks(found));
    if (pathname.endsWith('/retry')) {
      // The refusals of WorkflowExecutorOps.retry in Conductor 3.32.1.
      if (!hasEnded(found)) return refusal(404, `Workflow is still running.  status=${found.status}`);
      if (found.tasks.length === 0) return refusal(409, 'Workflow has not started yet');
      const last = found.tasks.at(-1) as ExecutedTask;
      if (last.status === 'COMPLETED' || last.status === 'SCHEDULED')
        return refusal(
          409,
          'There are no retryable tasks! Use restart if you want to attempt entire workflow execution again.',
        );
      executions.set(id, {
        ...withoutReason(found),
        status: 'RUNNING',
        endTime: 0,
        tasks: [...found.tasks, nextAttempt(last)],
      });
    }
    return answer(method === 'GET' ? found : '');
  };
  const engine = {
    api: new ExecutionApi(call),
    /** Responds to a request to the engine's API. Throws for a query that the reconciler does not use. */
    call,
    /** Start requests received through the API. */
    started,
    /** Adds an execution or replaces the one with the same id. */
    put: (execution: WholeExecution) => void executions.set(execution.workflowId, execution),
    /** Called before each request takes effect; may throw, or wait. */
    beforeCall: (_request: EngineRequest): void | Promise<void> => undefined,
    /** Returns fields that override those of a started execution. */
    outcomeOf: (_request: StartWorkflowRequest): Partial<WholeExecution> => ({}),
    /** Returns the end time of a terminated execution; by default one millisecond after its start. */
    now: undefined as (() => number) | undefined,
    /** All executions of the engine. */
    executions: executions as ReadonlyMap<string, WholeExecution>,
  };
  return engine;
}

export type EngineIndex = ReturnType<typeof createEngineIndex>;

function withoutOpenTasks(execution: WholeExecution): WholeExecution {
  const tasks = execution.tasks.map((task) => (task.endTime ? task : { ...task, status: 'CANCELED' }));
  return { ...execution, tasks };
}

function withoutReason({ reasonForIncompletion: _, ...execution }: WholeExecution): WholeExecution {
  return execution;
}

function nextAttempt({ taskId, taskType, referenceTaskName, retryCount = 0 }: ExecutedTask): ExecutedTask {
  const attempt = retryCount + 1;
  return { taskId: `${taskId}-${attempt}`, taskType, referenceTaskName, status: 'SCHEDULED', retryCount: attempt };
}

/** Returns an execution that no scan finds, only a search for follow-up executions of a PATCH. */
function startedBy({ name, version, correlationId = '', input }: StartWorkflowRequest, workflowId: string) {
  const fields = { workflowId, workflowName: name, workflowVersion: version, correlationId, input };
  return { ...fields, status: 'COMPLETED', startTime: 0, endTime: 0, output: {}, tasks: [] } as WholeExecution;
}

type Condition = (execution: WholeExecution) => boolean;

/** Parses one condition of a query. The result throws for a condition that the reconciler does not use. */
function conditionOf(text: string): Condition {
  const [, field = '', operator = '', value = ''] = /^(\w+) (=|<|>|IN) (.*)$/.exec(text) ?? [];
  const list = new Set(value.slice(1, -1).split(','));
  return ({ workflowName: workflowType, status, startTime, endTime, correlationId = '' }) => {
    const fields: Record<string, string | number> = { workflowType, status, startTime, endTime, correlationId };
    const actual = fields[field];
    if (actual === undefined) throw new Error(`unexpected condition: ${text}`);
    if (operator === 'IN') return list.has(String(actual));
    if (operator === '=') return value.endsWith('*') ? String(actual).startsWith(value.slice(0, -1)) : actual === value;
    return operator === '<' ? Number(actual) < Number(value) : Number(actual) > Number(value);
  };
}

function search(executions: readonly WholeExecution[], parameters: URLSearchParams): object {
  const conditions = (parameters.get('query') ?? '').split(' AND ').map(conditionOf);
  const [field] = (parameters.get('sort') ?? '').split(':') as ['startTime' | 'endTime'];
  const offset = Number(parameters.get('start'));
  const found = executions
    .filter((execution) => conditions.every((holds) => holds(execution)))
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
