// Express 4, the frame the router is built in: answering JSON by itself; with the engine's three calls behind each
// response; and with the exchanges of the router, the worker's included. Nothing is checked, limited, counted or logged.

import { createServer } from 'node:http';
import express from 'express';
import type { Task, TaskResult } from '#lib/conductor/types.ts';
import { listenOnLoopback } from '../../dev/loopback-server.ts';
import { runProgram } from '#lib/process/run-program.ts';
import { startBody, taskOutput } from '../targets/execution.ts';
import { HttpClient } from '../targets/http-client.ts';
import { floorWorkflow } from './definitions.ts';

const movie = { title: 'Metropolis', year: 1927, director: 'Fritz Lang', runtimeMinutes: 153 };
const start = { method: 'POST', path: '/api/workflow', body: startBody(floorWorkflow) } as const;
const { input: inbound } = JSON.parse(start.body) as { input: NonNullable<Task['inputData']> };
/** How long a poll is held. */
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
  const { url, close } = await listenOnLoopback(server, { port: 0, variable: 'none' });
  return { ready: { url }, stop: () => close().then(() => engine.close()) };
});

/** Start, poll, update; the response is what the update brought. */
async function callEngine(engine: HttpClient): Promise<string> {
  const executionId = await engine.text(start);
  await engine.text(poll);
  const path = `/api/tasks/${executionId}/movies_intake/COMPLETED/sync`;
  const update = { method: 'POST', path, body: JSON.stringify(taskOutput) } as const;
  const { output } = await engine.json<{ output: typeof taskOutput }>(update);
  return output.outbound.body ?? '';
}

/**
 * The fewest exchanges that a request takes with a worker that polls: the client's, the start, the worker's poll and
 * result, and the result to the engine.
 */
function addExchanges(app: express.Express, engine: HttpClient): void {
  const clients = new Map<string, express.Response>();
  const tasks: Partial<Task>[] = [];
  let held: { response: express.Response; timer: NodeJS.Timeout } | undefined;
  const handOut = () => {
    if (held === undefined || tasks.length === 0) return;
    clearTimeout(held.timer);
    held.response.json(tasks.splice(0));
    held = undefined;
  };
  app.get('/exchanges/:title', (_request, response, next) => {
    engine.text(start).then((executionId) => {
      clients.set(executionId, response);
      tasks.push({ taskId: executionId, workflowInstanceId: executionId, inputData: inbound });
      handOut();
    }, next);
  });
  app.get('/conductor/api/tasks/poll/batch/:type', (_request, response) => {
    const release = () => {
      held = undefined;
      response.json([]);
    };
    held = { response, timer: setTimeout(release, pollMs) };
    handOut();
  });
  app.post('/conductor/api/tasks', express.json(), (request, response, next) => {
    const { workflowInstanceId: id, taskId, outputData } = request.body as TaskResult;
    const path = `/api/tasks/${id}/${floorWorkflow.task}/COMPLETED`;
    engine.text({ method: 'POST', path, body: JSON.stringify(outputData) }).then(() => {
      const { outbound } = outputData as typeof taskOutput;
      clients.get(id)?.type('json').send(outbound.body);
      clients.delete(id);
      response.type('text').send(taskId);
    }, next);
  });
}
