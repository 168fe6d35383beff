// A stub engine that immediately responds to the router's calls from memory, with responses of realistic shape and
// size.

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { listenOnLoopback } from '../../dev/loopback-server.ts';
import { runProgram } from '#lib/process/run-program.ts';
import { floorWorkflow } from './definitions.ts';
import { rootDir } from './program.ts';

const readJson = (path: string) => JSON.parse(readFileSync(join(rootDir, path), 'utf8')) as Record<string, unknown>;
const taskDefinition = readJson('workflows/tasks/movies_intake.json');
const workflowDefinition = readJson('workflows/moviesWF.v1.json');
const [workflowTask] = workflowDefinition['tasks'] as Record<string, unknown>[];

interface Execution {
  readonly input: unknown;
  readonly taskId: string;
  output?: unknown;
}

/** Body of a call that starts an execution. */
interface Start {
  readonly name: string;
  readonly input: unknown;
  readonly taskToDomain?: unknown;
}

/** How long a completed execution can still be read, in milliseconds. */
const keptMs = 3_000;

/** Executions that can still be read. */
const executions = new Map<string, Execution>();
/** Ids of the executions whose task waits for a worker, by task type. */
const queues = new Map<string, string[]>([
  ['movies_intake', []],
  [floorWorkflow.task, []],
]);

/** Returns a task with the fields and the size of a real one. */
function taskOf(executionId: string, { input, taskId, output }: Execution): Record<string, unknown> {
  const now = Date.now();
  return {
    taskType: 'movies_intake',
    status: output === undefined ? 'IN_PROGRESS' : 'COMPLETED',
    inputData: input,
    ...(output === undefined ? {} : { outputData: output }),
    referenceTaskName: 'movies_intake',
    retryCount: 0,
    seq: 1,
    pollCount: 1,
    taskDefName: 'movies_intake',
    ...{ scheduledTime: now, startTime: now, endTime: 0, updateTime: now },
    ...{ startDelayInSeconds: 0, retried: false, executed: false, callbackFromWorker: true },
    ...{ responseTimeoutSeconds: 22, callbackAfterSeconds: 0, iteration: 0, workflowPriority: 0 },
    workflowInstanceId: executionId,
    workflowType: 'moviesWF',
    taskId,
    workerId: 'bench',
    workflowTask: { ...workflowTask, taskDefinition },
    ...{ rateLimitPerFrequency: 0, rateLimitFrequencyInSeconds: 1, queueWaitTime: 1, taskDefinition },
  };
}

function statusOf(executionId: string): Record<string, unknown> {
  const { output } = executions.get(executionId) ?? {};
  const outputs = (output ?? {}) as Record<string, unknown>;
  return { workflowId: executionId, status: output === undefined ? 'RUNNING' : 'COMPLETED', output: outputs };
}

function complete(executionId: string, output: unknown): void {
  const execution = executions.get(executionId);
  if (execution !== undefined) execution.output = output;
}

/**
 * One entry per call: the first entry whose pattern matches `<method> <path>` handles the call. Its function returns a
 * string, or a value that is sent as JSON.
 */
const calls: readonly [pattern: RegExp, answer: (match: RegExpExecArray, body: string) => unknown][] = [
  [
    /^POST \/api\/workflow$/,
    (_match, body) => {
      const executionId = randomUUID();
      const { name, input, taskToDomain } = JSON.parse(body) as Start;
      executions.set(executionId, { input, taskId: randomUUID() });
      // No worker polls the domain of directly dispatched tasks.
      if (taskToDomain !== undefined) return executionId;
      queues.get(name === floorWorkflow.workflow ? floorWorkflow.task : 'movies_intake')?.push(executionId);
      return executionId;
    },
  ],
  [
    /^GET \/api\/tasks\/poll\/batch\/([^?]+)\?.*count=(\d+)/,
    ([, taskType = '', count]) => {
      const ids = queues.get(taskType)?.splice(0, Number(count)) ?? [];
      return ids.map((id) => taskOf(id, executions.get(id) ?? { input: {}, taskId: id }));
    },
  ],
  [
    /^POST \/api\/tasks\/([^/]+)\/[^/]+\/COMPLETED\/sync/,
    ([, executionId = ''], body) => {
      complete(executionId, JSON.parse(body));
      const execution = executions.get(executionId);
      const tasks = execution === undefined ? [] : [taskOf(executionId, execution)];
      const answer = { ...statusOf(executionId), workflowName: 'moviesWF', tasks, input: execution?.input };
      // The execution is kept for a while: the router reads its status if it ended before the router began to wait.
      setTimeout(() => executions.delete(executionId), keptMs).unref();
      return { ...answer, workflowDefinition, workflowVersion: 1, priority: 0, variables: {} };
    },
  ],
  [
    /^POST \/api\/tasks$/,
    (_match, body) => {
      const result = JSON.parse(body) as { workflowInstanceId: string; taskId: string; outputData: unknown };
      complete(result.workflowInstanceId, result.outputData);
      return result.taskId;
    },
  ],
  [
    /^GET \/api\/workflow\/([^/?]+)\/status/,
    ([, executionId = '']) => {
      const status = statusOf(executionId);
      if (status['status'] === 'COMPLETED') executions.delete(executionId);
      return status;
    },
  ],
  [
    /^POST \/api\/tasks\/([^/]+)\/[^/]+\/COMPLETED/,
    ([, executionId = '']) => {
      const { taskId = '' } = executions.get(executionId) ?? {};
      executions.delete(executionId);
      return taskId;
    },
  ],
  [/^GET \/api\/metadata\/workflow\//, () => workflowDefinition],
  [/^GET \/api\/metadata\/taskdefs\//, () => taskDefinition],
  // This response makes the router assume that the engine has an index.
  [/^GET \/api\/workflow\/search/, () => ({ totalHits: 1, results: [] })],
  [/^GET \/health/, () => ({ healthy: true })],
  [/^GET /, () => []],
  [/^/, () => ''],
];

async function answer(request: IncomingMessage): Promise<string> {
  const body = await text(request);
  const line = `${request.method} ${request.url}`;
  for (const [pattern, act] of calls) {
    const match = pattern.exec(line);
    if (match === null) continue;
    const answered = act(match, body);
    return typeof answered === 'string' ? answered : JSON.stringify(answered);
  }
  return '';
}

await runProgram('engine-stub', async (log) => {
  const server = createServer((request, response) => {
    answer(request).then(
      (body) =>
        response
          .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
          .end(body),
      (error: Error) => {
        log.error(error.message);
        response.writeHead(500).end();
      },
    );
  });
  server.keepAliveTimeout = 120_000;
  const { url, close } = await listenOnLoopback(server);
  return { ready: { url }, stop: close };
});
