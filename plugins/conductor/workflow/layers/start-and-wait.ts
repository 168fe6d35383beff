// The innermost function of the stack: starts the execution, waits until it has ended, and determines the outcome.

import type { AsyncExecutions } from '../../async-executions/async-executions.ts';
import {
  type ExecutionDependencies,
  startExecution,
  type StartedExecution,
  waitForEnd,
} from '../../execution/executions.ts';
import { isSafeMethod } from '#lib/http/methods.ts';
import { type Outcome, problemOutcome } from '../../execution/outcome.ts';
import { type ResponseOptions, responseOf } from '../../execution/response.ts';
import { remainingMs } from '../../execution/time-limits.ts';
import type { ExecutionRequest, Start } from '../execution-request.ts';

/** Dependencies of {@link startAndWait}. */
export interface StartDependencies extends ExecutionDependencies {
  readonly responseOptions: ResponseOptions;
  readonly asyncExecutions: AsyncExecutions;
}

/**
 * Returns the function that starts the execution of a request and waits for its outcome.
 * @param options `workflow`: name of the definition; `domainOf`: path parameter that selects the task domain
 */
export function startAndWait(
  { workflow, domainOf }: { workflow: string; domainOf: string | undefined },
  dependencies: StartDependencies,
): Start {
  // Workflow definitions read the parameter that selects the domain, so it stays unencrypted.
  const clearParameters = domainOf === undefined ? [] : [domainOf];
  return (request) => dependencies.waiters.whileStarting(() => start(request));

  async function start(request: ExecutionRequest) {
    const { received, version, domain, correlationId, isKeyed, waitPolicy } = request;
    const started = await startExecution(
      {
        name: workflow,
        version: version.version,
        correlationId,
        input: { inbound: dependencies.responseOptions.codec.packInbound(received, clearParameters) },
        ...(domain === undefined ? {} : { taskToDomain: { '*': domain } }),
      },
      {
        readOnly: isSafeMethod(received.httpMethod),
        // A shorter wait preference does not shorten the time for the start.
        deadlineAt: request.startBefore,
        respondsAsync: waitPolicy.respondsAsync,
        isKeyed,
      },
      dependencies,
    );
    return { executionId: started.executionId, outcome: waitForOutcome(started, request, dependencies) };
  }
}

async function waitForOutcome(
  started: StartedExecution,
  request: ExecutionRequest,
  dependencies: StartDependencies,
): Promise<Outcome> {
  const { waitPolicy, received, clientGone } = request;
  const { respondsAsync, waitMs } = waitPolicy;
  const { responseOptions } = dependencies;
  const { linksOf } = responseOptions;
  const readOnly = isSafeMethod(received.httpMethod);
  const wait = { waitMs, deadlineAt: request.arrivedAt + waitMs, clientGone, respondsAsync, linksOf };
  try {
    const ended = await waitForEnd(started, { ...wait, readOnly }, dependencies);
    if (ended === null) return { kind: 'client-gone' };
    if (ended === 'later') return accepted(started.executionId, request, dependencies);
    return {
      kind: 'response',
      response: responseOf(ended, { ...responseOptions, readOnly, clientId: received.clientId }),
    };
  } catch (error) {
    return problemOutcome(error);
  }
}

/**
 * Returns the outcome 202 (RFC 9110 section 15.3.3) with the execution's links and the applied preferences (RFC 7240
 * section 3).
 */
function accepted(
  id: string,
  request: ExecutionRequest,
  { asyncExecutions, responseOptions }: StartDependencies,
): Outcome {
  const { route, httpMethod: method, requestId, clientId } = request.received;
  const links = responseOptions.linksOf(id);
  return {
    kind: 'accepted',
    document: { id, state: 'running', route, method, requestId, links },
    headers: { location: links.self, 'retry-after': '1', 'preference-applied': request.waitPolicy.applied },
    settled: asyncExecutions.follow(id, {
      timeoutMs: remainingMs(request.arrivedAt + request.responseDeadlineMs),
      responseOf: (ended) => responseOf(ended, { ...responseOptions, readOnly: isSafeMethod(method), clientId }),
    }),
  };
}
