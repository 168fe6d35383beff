// An in-memory fake of an engine without an index, such as Conductor on Redis. It supports only the calls that the code
// under test makes.

import { randomUUID } from 'node:crypto';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { EngineRequest, EngineResponse, SendRequest } from '#lib/conductor/send-call.ts';
import type { StartWorkflowRequest, Task, WorkflowStatus } from '#lib/conductor/types.ts';

export function engineWithoutIndex() {
  const executions = new Map<string, WholeExecution>();
  const all = () => [...executions.values()];
  const answer = (value: unknown, status = 200): EngineResponse => {
    return { status, headers: {}, body: Buffer.from(JSON.stringify(value)) };
  };
  const call: SendRequest = async ({ method, path, body }: EngineRequest): Promise<EngineResponse> => {
    const { pathname } = new URL(path, 'http://engine');
    const segments = pathname.split('/').slice(3);
    if (pathname === '/api/workflow/search') return answer({ totalHits: 0, results: [] });
    if (pathname === '/api/metadata/workflow') return answer(all().map(({ workflowName: name }) => ({ name })));
    if (pathname.startsWith('/api/metadata/') || pathname === '/api/event') return answer([]);
    if (segments[1] === 'correlated') return answer([]);
    if (segments[0] === 'running') {
      const running = all().filter(({ workflowName, status }) => workflowName === segments[1] && status === 'RUNNING');
      return answer(running.map(({ workflowId }) => workflowId));
    }
    if (method === 'POST' && pathname === '/api/workflow') {
      const executionId = engine.start(JSON.parse(String(body)) as StartWorkflowRequest);
      return { status: 200, headers: {}, body: Buffer.from(executionId) };
    }
    if (method === 'DELETE') {
      const ids = JSON.parse(String(body)) as string[];
      return answer({ bulkSuccessfulResults: ids.filter((id) => executions.delete(id)) });
    }
    const found = executions.get(String(segments[0]));
    return found === undefined ? answer({}, 404) : answer(found);
  };
  const engine = {
    call,
    start({ name: workflowName, version: workflowVersion, correlationId, input }: StartWorkflowRequest) {
      const workflowId = randomUUID();
      executions.set(workflowId, {
        ...{ workflowId, workflowName, workflowVersion, input, status: 'RUNNING', startTime: Date.now(), endTime: 0 },
        ...(correlationId === undefined ? {} : { correlationId }),
        ...{ output: {}, tasks: [{ taskId: 't', taskType: 't', referenceTaskName: 't', status: 'SCHEDULED' }] },
      });
      return workflowId;
    },
    end(executionId: string, status: WorkflowStatus, output: Record<string, unknown> = {}) {
      const execution = executions.get(executionId) as WholeExecution;
      executions.set(executionId, { ...execution, status, output, endTime: Date.now() });
    },
    pause(executionId: string) {
      const execution = executions.get(executionId) as WholeExecution;
      executions.set(executionId, { ...execution, status: 'PAUSED' });
    },
    retry(executionId: string) {
      const execution = executions.get(executionId) as WholeExecution;
      executions.set(executionId, { ...execution, status: 'RUNNING', endTime: 0 });
    },
    /** Loses an execution, as when Redis is killed before it writes to its append-only file. */
    lose: (executionId: string) => void executions.delete(executionId),
    taskOf(workflowInstanceId: string): Task {
      const { workflowName, correlationId, input, startTime } = executions.get(workflowInstanceId) as WholeExecution;
      return {
        ...{ taskId: randomUUID(), taskDefName: 't', taskType: 't', referenceTaskName: 't', workflowInstanceId },
        ...{ workflowType: workflowName, correlationId, inputData: input, scheduledTime: startTime },
      };
    },
  };
  return engine;
}

export type EngineWithoutIndex = ReturnType<typeof engineWithoutIndex>;
