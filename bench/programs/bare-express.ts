// Express 4, the framework that the router is built on, in three modes: it returns JSON by itself; it makes three calls
// to the engine for each response; or it makes the same exchanges as the router, including those with the worker.
// Nothing is checked, limited, counted or logged.

import { createServer } from 'node:http';
import express from 'express';
import type { Task, TaskResult } from '#lib/conductor/types.ts';
import { listenOnLoopback } from '../../dev/loopback-server.ts';
import { runProgram } from '#lib/process/run-program.ts';
import { startBody, startRequest, taskOutput } from '../targets/execution.ts';
import { HttpClient } from '../targets/http-client.ts';
import { floorWorkflow } from './definitions.ts';

const movie = { title: 'Metropolis', year: 1927, director: 'Fritz Lang', runtimeMinutes: 153 };
const start = { method: 'POST', path: '/api/workflow', body: startBody(floorWorkflow) } as const;
const { input: inbound } = startRequest(floorWorkflow);
/** How long a poll is held, in milliseconds. */
const pollMs = 5_000;
const poll = { path: `/api/tasks/poll/batch/${floorWorkflow.task}?count=1&timeout=0` } as const;

await runProgram('bare-express', async () => {
  const engine = new HttpClient(process.env['BENCH_ENGINE'] ?? '', 256);
  const app = express();
  app.get('/movies/:title', (_request, response) => void response.json(movie));
  app.get('/calls/:title', (_request, response, next) => {
    callEngine(engine).then((answer) => response.type('json').send(answer), next);
  });
  addExchanges(app, engine);
  const server = createServer(app);
  server.keepAliveTimeout = 120_000;
  const { url, close } = await listenOnLoopback(server);
  return { ready: { url }, stop: () => close().then(() => engine.close()) };
});

/** Starts an execution, polls for its task and completes the task. Returns the body in the output of the execution. */
async function callEngine(engine: HttpClient): Promise<string> {
  const executionId = await engine.text(start);
  await engine.text(poll);
  const path = `/api/tasks/${executionId}/${floorWorkflow.task}/COMPLETED/sync`;
  const update = { method: 'POST', path, body: JSON.stringify(taskOutput) } as const;
  const { output } = await engine.json<{ output: typeof taskOutput }>(update);
  return output.outbound.body ?? '';
}

/** The responses of waiting clients, by execution id. */
type Clients = Map<string, express.Response>;

/** A worker's exchange that waits for tasks. */
interface HeldExchange {
  readonly response: express.Response;
  readonly timer: NodeJS.Timeout;
}

/**
 * Adds the routes that serve a request through a worker with as few exchanges as possible: the client's exchange, the
 * start of the execution, the worker's exchange (which reports a result and takes the next task), and the call that
 * passes the result to the engine.
 */
function addExchanges(app: express.Express, engine: HttpClient): void {
  const clients: Clients = new Map();
  const tasks: Partial<Task>[] = [];
  const held: HeldExchange[] = [];
  const handOut = () => {
    if (tasks.length === 0) return;
    const exchange = held.shift();
    if (exchange === undefined) return;
    clearTimeout(exchange.timer);
    exchange.response.json({ tasks: tasks.splice(0) });
  };
  app.get('/exchanges/:title', (_request, response, next) => {
    engine.text(start).then((executionId) => {
      clients.set(executionId, response);
      const taskDefName = 'movies_intake';
      tasks.push({ taskId: executionId, workflowInstanceId: executionId, taskDefName, inputData: inbound });
      handOut();
    }, next);
  });
  app.post('/conductor/api/token', (_request, response) => void response.json({ token: 'none', expires_in: 86_400 }));
  app.post('/conductor/api/tasks/exchange', express.text({ type: () => true }), (request, response, next) => {
    const [, ...results] = (request.body as string).split('\n').map((line) => JSON.parse(line) as TaskResult);
    Promise.all(results.map((result) => complete(result, engine, clients))).then(() => {
      const release = () => {
        held.splice(held.indexOf(exchange), 1);
        response.json({ tasks: [] });
      };
      const exchange: HeldExchange = { response, timer: setTimeout(release, pollMs) };
      held.push(exchange);
      handOut();
    }, next);
  });
}

async function complete(result: TaskResult, engine: HttpClient, clients: Clients): Promise<void> {
  const { workflowInstanceId: id, outputData } = result;
  const path = `/api/tasks/${id}/${floorWorkflow.task}/COMPLETED`;
  await engine.text({ method: 'POST', path, body: JSON.stringify(outputData) });
  const { outbound } = outputData as typeof taskOutput;
  clients.get(id)?.type('json').send(outbound.body);
  clients.delete(id);
}
