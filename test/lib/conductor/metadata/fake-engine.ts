// A fake metadata API that stores definitions and responds as the engine does, including its quirks.

import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenOnLoopback } from '../../../../dev/loopback-server.ts';

interface Stored {
  name: string;
  version?: number;
  [field: string]: unknown;
}

type Answer = readonly [status: number, body: unknown];

export async function startFakeEngine() {
  const writes: string[] = [];
  const state = {
    workflows: [] as Stored[],
    taskDefs: [] as Stored[],
    eventHandlers: [] as Stored[],
    /** Names of workflows whose update is refused, although the response is 200. */
    refuses: new Set<string>(),
  };
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const call = `${request.method} ${request.url}`;
    if (request.method !== 'GET') writes.push(call);
    const [status, answer] = answerTo(call, body === '' ? undefined : JSON.parse(body), state);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  const { url, close } = await listenOnLoopback(server);
  return { ...state, url, writes, stop: close };
}

export type FakeEngine = Awaited<ReturnType<typeof startFakeEngine>>;

type State = Pick<FakeEngine, 'workflows' | 'taskDefs' | 'eventHandlers' | 'refuses'>;

function answerTo(call: string, body: unknown, state: State): Answer {
  switch (call) {
    case 'GET /api/metadata/workflow':
      return [200, state.workflows];
    case 'GET /api/metadata/taskdefs':
      return [200, state.taskDefs];
    case 'GET /api/event':
      return [200, state.eventHandlers];
    case 'POST /api/metadata/taskdefs':
      return put(state.taskDefs, body as Stored[]);
    case 'PUT /api/metadata/taskdefs':
      return has(state.taskDefs, body as Stored) ? put(state.taskDefs, [body as Stored]) : [404, { status: 404 }];
    case 'POST /api/metadata/workflow':
      return has(state.workflows, body as Stored) ? [409, { status: 409 }] : put(state.workflows, [body as Stored]);
    case 'PUT /api/metadata/workflow':
      return updateWorkflows(body as Stored[], state);
    case 'POST /api/event':
      return has(state.eventHandlers, body as Stored)
        ? [500, { status: 500, message: 'EventHandler with name already exists!' }]
        : put(state.eventHandlers, [body as Stored]);
    case 'PUT /api/event':
      return has(state.eventHandlers, body as Stored)
        ? put(state.eventHandlers, [body as Stored])
        : [500, { status: 500, message: 'EventHandler with name not found!' }];
    default:
      if (call.startsWith('GET /api/workflow/running/')) return [200, []];
      return [404, { status: 404, message: `No static resource ${call}.` }];
  }
}

/** Updates workflows as the engine does: it responds with 200, whatever the result for each workflow. */
function updateWorkflows(definitions: Stored[], { workflows, refuses }: State): Answer {
  const refused = definitions.filter(({ name }) => refuses.has(name));
  put(
    workflows,
    definitions.filter(({ name }) => !refuses.has(name)),
  );
  const bulkErrorResults = Object.fromEntries(refused.map(({ name }) => [name, 'database is locked']));
  return [200, { bulkErrorResults, bulkSuccessfulResults: [] }];
}

const isSame = (left: Stored, right: Stored) => left.name === right.name && left.version === right.version;

function has(list: readonly Stored[], value: Stored): boolean {
  return list.some((other) => isSame(other, value));
}

function put(list: Stored[], values: readonly Stored[]): Answer {
  for (const value of values) {
    const index = list.findIndex((other) => isSame(other, value));
    list.splice(index === -1 ? list.length : index, 1, { ...value, createTime: 1, updateTime: 2 });
  }
  return [200, ''];
}
