// The OpenAPI description of worker calls (parameters, bodies and responses), for workers without an SDK.

import type { Components, Operation, Parameter, Response, Schema } from '#lib/openapi/openapi.ts';
import type { CallKind } from './allow-list.ts';

/** The description of a call in the OpenAPI document, besides its summary, scope and problems. */
export type CallDescription = Pick<Operation, 'description' | 'parameters' | 'requestBody' | 'responses'>;

const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const text = (description: string) => ({ type: 'string', description });
const json = (schema: Schema) => ({ 'application/json': { schema } });

const domain = (description: string): Parameter => ({
  name: 'domain',
  in: 'query',
  description,
  schema: { type: 'string' },
  example: '002',
});
const pollParameters: readonly Parameter[] = [
  domain('Task domain from which to take tasks, such as the MIS code of a college; without it, the default pool.'),
  {
    name: 'workerid',
    in: 'query',
    description: 'Name of the worker, which the engine shows with the task.',
    schema: { type: 'string' },
  },
];
const wholeNumber = (name: string, value: number, description: string): Parameter => ({
  name,
  in: 'query',
  description,
  schema: { type: 'integer', minimum: 0, default: value },
});
const engineResponse: Response = { description: "The engine's response.", content: { '*/*': {} } };
const noTask: Response = { description: 'There is no task.' };
const result: CallDescription['requestBody'] = { required: true, content: json(reference('conductor.TaskResult')) };

/** Descriptions of worker calls; operator calls have none. */
export const workerCalls: Readonly<Partial<Record<CallKind, CallDescription>>> = {
  'batch-poll': {
    description:
      'A long poll: the response comes as soon as there is a task, and is empty after `timeout`. Then poll again immediately. 503 `shutting-down`: poll another router.',
    parameters: [
      wholeNumber('count', 1, 'Maximum number of tasks; for 0, the response is empty and comes immediately.'),
      wholeNumber('timeout', 100, 'How long to wait for a task, in milliseconds; several seconds are recommended.'),
      ...pollParameters,
    ],
    responses: {
      '200': {
        description: 'The tasks; none after the timeout.',
        content: json({ type: 'array', items: reference('conductor.Task') }),
      },
    },
  },
  poll: {
    description: 'Waits up to 100 ms for a task. The poll for several tasks can wait longer and needs fewer calls.',
    parameters: pollParameters,
    responses: { '200': { description: 'The task.', content: json(reference('conductor.Task')) }, '204': noTask },
  },
  update: {
    description:
      'Ends a task, or puts it back with `IN_PROGRESS`. After a lost connection, 429 or 5xx, repeat the call: the engine ignores a second result of the same task.',
    requestBody: result,
    responses: {
      '200': {
        description: 'The result is stored.',
        content: { 'text/plain': { schema: text('The id of the task.') } },
      },
      '404': { description: 'The engine has no such task.', content: { 'application/json': {} } },
      default: engineResponse,
    },
  },
  'update-and-poll': {
    description:
      'Reports a result like `POST …/tasks`, and takes the next task of the same queue if there is one already.',
    requestBody: result,
    responses: {
      '200': {
        description: 'The result is stored; the response is the next task.',
        content: json(reference('conductor.Task')),
      },
      '204': { description: 'The result is stored; there is no task.' },
      '404': { description: 'The engine has no such task.', content: { 'application/json': {} } },
      default: engineResponse,
    },
  },
  exchange: {
    description:
      'Reports results and takes tasks of several types in one request. The body is lines of JSON: the first line is a `conductor.Exchange`, every other line a `conductor.TaskResult`. The response comes as soon as there are tasks, or immediately when a result was not accepted. After `timeout`, it comes without tasks.',
    requestBody: {
      required: true,
      content: {
        'application/x-ndjson': {
          schema: reference('conductor.Exchange'),
          example: { workerId: 'worker-1', timeout: 0, wanted: [{ taskType: 'movies_intake', count: 1 }] },
        },
      },
    },
    responses: {
      '200': { description: 'The tasks; none after the timeout.', content: json(reference('conductor.Exchanged')) },
    },
  },
  log: {
    requestBody: { required: true, content: { 'text/plain': { schema: { type: 'string' } }, 'application/json': {} } },
    responses: { default: engineResponse },
  },
};

const body = {
  body: text('The body, encoded as `bodyEncoding` says. Absent when there is none.'),
  bodyEncoding: {
    enum: ['text', 'base64', 'gzip+base64'],
    description:
      '`text`: the body itself; `base64`: its bytes; `gzip+base64`: its bytes compressed. Any body may be sent as `base64`.',
  },
  escaped: {
    const: true,
    description:
      'The strings in `path`, `query`, `params` and `headers` are escaped: replace each backslash and the character after it with that character.',
  },
  sealed: text('The other members, encrypted (JWE), when payloads are encrypted.'),
};
const headers: Schema = {
  type: 'object',
  description: 'Header fields: lower-case names; each value is a string or a list of strings.',
  additionalProperties: { type: ['string', 'array'], items: { type: 'string' } },
};

/** Schemas of tasks and results, and of the request and the response inside them. */
export const workerSchemas: NonNullable<Components['schemas']> = {
  'conductor.Task': {
    type: 'object',
    description: 'A task of the engine. Only the members that a worker needs are listed.',
    required: ['taskId', 'workflowInstanceId'],
    properties: {
      taskId: text('Id of the task, needed to report its result.'),
      workflowInstanceId: text(
        'Id of the execution. Send it with the result, and as the `Idempotency-Key` of a write to a back end.',
      ),
      taskDefName: text('The task type.'),
      responseTimeoutSeconds: { type: 'integer', description: 'How long the engine waits for the result, in seconds.' },
      inputData: {
        type: 'object',
        description: 'The input. Tasks of a routed request have `inbound`.',
        properties: { inbound: reference('conductor.Inbound') },
      },
    },
  },
  'conductor.Exchange': {
    type: 'object',
    required: ['timeout', 'wanted'],
    properties: {
      workerId: text('Name of the worker, which the engine shows with the task.'),
      timeout: { type: 'integer', minimum: 0, description: 'How long to wait for tasks, in milliseconds.' },
      wanted: {
        type: 'array',
        description:
          'The queues from which to take tasks. When the list is empty, the response comes when the results are stored.',
        items: {
          type: 'object',
          required: ['taskType', 'count'],
          properties: {
            taskType: text('Name of the task type.'),
            domain: text('Task domain; without it, the default pool.'),
            count: { type: 'integer', minimum: 0, description: 'Maximum number of tasks.' },
          },
        },
      },
    },
  },
  'conductor.Exchanged': {
    type: 'object',
    required: ['tasks'],
    properties: {
      tasks: { type: 'array', items: reference('conductor.Task') },
      statuses: {
        type: 'array',
        items: { type: 'integer' },
        description: 'The status that `POST …/tasks` would return for each result; absent when all are stored.',
      },
      refused: { type: 'array', items: { type: 'string' }, description: 'Task types that the client may not take.' },
      unavailable: { const: true, description: 'The engine does not respond.' },
    },
  },
  'conductor.TaskResult': {
    type: 'object',
    required: ['taskId', 'workflowInstanceId'],
    properties: {
      taskId: text('`taskId` of the task.'),
      workflowInstanceId: text('`workflowInstanceId` of the task.'),
      status: {
        enum: ['COMPLETED', 'FAILED_WITH_TERMINAL_ERROR', 'FAILED', 'IN_PROGRESS', 'CANCELED'],
        description:
          '`COMPLETED` with any response from the back end; `FAILED_WITH_TERMINAL_ERROR` when there is none; `IN_PROGRESS` to get the task again. Required without `extendLease`.',
      },
      outputData: {
        type: 'object',
        description: 'The output. For a routed request it has `outbound`.',
        properties: { outbound: reference('conductor.Outbound') },
      },
      reasonForIncompletion: {
        type: 'string',
        description:
          'Why there is no response, as `<code>: <text>`. The client gets the code as a problem, with the text as its detail.',
        examples: ['back-end-timeout: no response within 20000 ms'],
      },
      callbackAfterSeconds: {
        type: 'integer',
        description: 'With `IN_PROGRESS`: time until the task is delivered again, in seconds.',
      },
      extendLease: {
        type: 'boolean',
        description:
          '`true`: the worker keeps the task, and its response timeout starts again. All other members except the ids are ignored.',
      },
      workerId: text('Name of the worker.'),
    },
  },
  'conductor.Inbound': {
    type: ['object', 'null'],
    description: 'The request of the client.',
    properties: {
      httpMethod: text('Upper case.'),
      path: text(
        'Path for the back end: without the leading part that the route strips, percent-encoded as it was sent; may be empty.',
      ),
      query: text('Query as it was sent, without its `?`.'),
      params: { type: 'object', description: 'Path parameters of the route, decoded.' },
      headers,
      requestId: text('Send it to the back end as `X-Request-Id`.'),
      clientId: text('The OAuth client that sent the request.'),
      route: text('Name of the endpoint.'),
      traceparent: text('W3C Trace Context.'),
      ...body,
    },
  },
  'conductor.Outbound': {
    type: 'object',
    description: 'The response for the client.',
    required: ['statusCodeValue'],
    properties: {
      statusCodeValue: { type: 'integer', minimum: 200, maximum: 599 },
      headers,
      answeredAt: { type: 'string', format: 'date-time', description: 'Writes only: when the back end responded.' },
      ...body,
    },
  },
};
