// OpenAPI description of the executions policy.

import type { Description, Endpoint, PolicyDescription } from '#lib/openapi/description.ts';
import { headerRef } from '#lib/openapi/headers.ts';
import type { Method, Operation, Parameter } from '#lib/openapi/openapi.ts';
import type { ProblemCode } from '#lib/problem/catalogue.ts';
import { compressedHeaders } from '../execution/compress-response.ts';
import { problemsOfExecutions } from '../execution/execution-problems.ts';
import { executionComponents, executionRef, preferWait } from './describe-async.ts';

const id: Parameter = {
  name: 'id',
  in: 'path',
  description: 'Id of the execution, from `X-Execution-Id`. Only the client that started the execution can see it.',
  schema: { type: 'string', format: 'uuid' },
};

/** Only responses about executions of a workflow with several versions have this header. */
const versionOfOne = { 'X-Workflow-Version': headerRef('XWorkflowVersionOptional') };

const always: readonly ProblemCode[] = ['shutting-down', 'engine-unavailable', 'execution-unknown'];

/**
 * Describes the policy.
 * @param serve the policy's parameter `serve`
 * @param compresses whether responses are compressed
 */
export function describeExecutions(serve: 'status' | 'response', compresses: boolean): PolicyDescription {
  const describe = serve === 'status' ? describeStatus : () => describeResponse(compresses);
  return {
    operation: ({ method }) => describe(method),
    operations: ({ templates, methods }: Endpoint) =>
      templates.flatMap((path) => methods.map((method) => ({ method, path, operation: summaryOf(serve, method) }))),
  };
}

function summaryOf(serve: 'status' | 'response', method: Method): Operation {
  if (method === 'DELETE') return { summary: 'Cancels an execution that no worker has taken' };
  return serve === 'status' ? { summary: 'The status of an execution' } : {};
}

function describeStatus(method: Method): Description {
  const cancels = method === 'DELETE';
  return {
    headers: versionOfOne,
    problemHeaders: versionOfOne,
    problems: [...always, ...(cancels ? (['execution-under-way', 'execution-ended'] as const) : [])],
    parameters: cancels ? [id] : [id, preferWait],
    responses: {
      200: {
        description: cancels
          ? 'The execution is cancelled: nothing has reached the back end, and nothing will.'
          : 'The status. `Retry-After` is present while the execution runs.',
        headers: {
          'Cache-Control': headerRef('CacheControl'),
          ...(cancels
            ? {}
            : {
                'Retry-After': headerRef('RetryAfterOptional'),
                'Preference-Applied': headerRef('PreferenceAppliedOptional'),
              }),
        },
        content: { 'application/json': { schema: executionRef } },
      },
    },
    components: executionComponents,
  };
}

function describeResponse(compresses: boolean): Description {
  return {
    problems: [...always, 'answer-pending', 'idempotency-key-in-use', ...problemsOfExecutions, 'unknown-college'],
    parameters: [id, preferWait],
    headers: {
      'X-Execution-Id': headerRef('XExecutionId'),
      ...versionOfOne,
      ...(compresses ? compressedHeaders : {}),
    },
    problemHeaders: versionOfOne,
    responses: {
      default: {
        description: "The back end's response to the request that started the execution, whatever its status and body.",
        content: { '*/*': {} },
      },
    },
  };
}
