// The workflow policy: runs each request as one execution of a pinned workflow version and responds with the output of
// the execution.

import type { IncomingMessage } from 'node:http';
import type { Config } from '#lib/config/schema.ts';
import { requestHeaderFilter } from '#lib/envelope/headers.ts';
import { isSafeMethod } from '#lib/http/methods.ts';
import { callerOf } from '../../../gateway/plugin-api/client-address.ts';
import { contextOf, definePolicy, type Policy, type SheddingCheck } from '../../../gateway/plugin-api/plugin-api.ts';
import { subjectOf } from '../admission/admission-subject.ts';
import { sendOutcome } from '../execution/outcome.ts';
import type { Versions } from '../versions/create-versions.ts';
import { createStack, type StackDependencies } from './create-stack.ts';
import { readExecutionRequest, type RouteOptions } from './read-request.ts';
import { compressOptionsOf } from '../execution/compress-response.ts';
import { backEndOf, responseDeadlineOf, workflowDeclaration } from './workflow-declaration.ts';

/** Dependencies of the policy. */
export interface WorkflowDependencies extends StackDependencies {
  readonly versions: Versions;
}

/**
 * Creates the policy `workflow`, the last policy in its pipeline. It runs each request as an execution and responds
 * with the output of the execution.
 */
export function createWorkflowPolicy(config: Config, dependencies: WorkflowDependencies): Policy {
  const allowsHeader = requestHeaderFilter(config['router.requestHeaders']);
  return definePolicy(workflowDeclaration, {
    loadShedding: (parameters) => createSheddingCheck(backEndOf(parameters), dependencies),
    create(parameters) {
      const { name, strip, domainOf, idempotencyKey } = parameters;
      const versions = dependencies.versions.at(parameters);
      const route: RouteOptions = {
        ...{ name, versions, domainOf, config, allowsHeader, telemetry: dependencies.telemetry },
        stripped: strip.split('/').length - 1,
        isKeyRequired: idempotencyKey === 'required',
        responseDeadlineMs: responseDeadlineOf(parameters) ?? config['router.responseDeadlineMs'],
      };
      const serve = createStack(
        {
          workflow: name,
          domainOf,
          backEndOf: backEndOf(parameters),
          compress: compressOptionsOf(parameters.compress),
        },
        dependencies,
      );
      return async function runWorkflow(request, response) {
        const context = contextOf(request);
        const { executionId, version, earlier, outcome } = await serve(
          await readExecutionRequest(request, response, route),
        );
        if (executionId !== undefined) context.executionId = executionId;
        if (version !== undefined) versions.show(version, response);
        const reached = await outcome;
        if (earlier === 'replayed') context.reason = 'replayed: the first response for its Idempotency-Key';
        else if (reached.kind === 'accepted')
          context.reason = 'deferred: the client got links to retrieve the response later';
        sendOutcome(response, executionId, reached);
      };
    },
  });
}

/** Creates the check that rejects a request before its pipeline runs if admission control would reject it now. */
function createSheddingCheck(
  parameter: string | undefined,
  { admission, backEnds }: Pick<StackDependencies, 'admission' | 'backEnds'>,
): SheddingCheck {
  return {
    isShedding: () => admission.isShedding,
    check({ request, context: { route }, params }) {
      if (isKeyed(request)) return 'unsure';
      const target = { method: request.method ?? '', route, params, client: callerOf(request) };
      admission.shed(subjectOf(target, parameter, backEnds));
    },
  };
}

/**
 * True for a write with an Idempotency-Key from an authenticated client. An earlier request with the key may have been
 * carried out, so the response must not claim that nothing was started.
 */
function isKeyed(request: IncomingMessage): boolean {
  const hasKey = request.headers['idempotency-key'] !== undefined;
  return hasKey && !isSafeMethod(request.method ?? '') && contextOf(request).clientId !== undefined;
}
