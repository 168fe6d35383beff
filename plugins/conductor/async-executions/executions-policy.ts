// The executions policy: lets clients read the status of their executions, wait for them, fetch their responses, or
// cancel them.

import { setTimeout as pause } from 'node:timers/promises';
import type { Request, Response } from 'express';
import { Type } from '#lib/json/json-schema.ts';
import type { Config } from '#lib/config/schema.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import { chooseCoding } from '../../../gateway/plugin-api/content-coding.ts';
import { contextOf, declarePolicy, definePolicy, type Policy } from '../../../gateway/plugin-api/plugin-api.ts';
import { signalWhenGone } from '../../../gateway/plugin-api/signal-when-gone.ts';
import { Problem } from '#lib/problem/problem.ts';
import type { ResponseOptions } from '../execution/response.ts';
import type { ExecutionDependencies } from '../execution/executions.ts';
import {
  type CompressOptions,
  compressOptionsOf,
  compressOutcome,
  compressParameter,
} from '../execution/compress-response.ts';
import { engineUnavailable } from '../execution/engine-unavailable.ts';
import { recordedOutcome, sendOutcome } from '../execution/outcome.ts';
import { sendDocument } from '../execution/send-document.ts';
import { shuttingDown } from '../execution/shutting-down.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import type { Versions } from '../versions/create-versions.ts';
import { versionField } from '../versions/requested-version.ts';
import type { Cancellations } from './cancellations.ts';
import { ClientExecutions, inboundOf } from '../execution/client-executions.ts';
import { describeExecutions } from './describe-executions.ts';
import { documentOf } from './execution-document.ts';
import { type ExecutionLinks, linkProblems, pathProblems, servedParts } from '../execution/links.ts';
import type { LongPolls } from './long-polls.ts';
import { parsePreferences, waitPolicyOf, preferOf } from '../execution/preferences.ts';

const parameters = Type.Object(
  {
    serve: Type.Enum([...servedParts], {
      description:
        '`status`: the status of the execution `:id`, and its cancellation by DELETE; `response`: its response',
    }),
    compress: compressParameter,
  },
  {
    additionalProperties: false,
    description:
      'Serves executions to the client that started them. A gateway configuration with `workflow` needs one endpoint with `serve: status` and one with `serve: response`; the path parameter of both is `:id`.',
    examples: [{ serve: 'status' }, { serve: 'response', compress: { overBytes: 4_096 } }],
  },
);

/** Maximum number of repeated reads of an execution that has ended according to a wake-up. */
const maxTries = 10;

/** What the policy needs to look up, return and cancel executions. */
export interface ExecutionsPolicyDependencies extends ExecutionDependencies {
  responseOptions: ResponseOptions;
  longPolls: LongPolls;
  cancellations: Cancellations;
  versions: Versions;
}

/** Name, parameters and OpenAPI description of the policy. */
export const executionsDeclaration = declarePolicy({
  name: 'executions',
  schema: parameters,
  alwaysResponds: true,
  needsClient: true,
  check: (_parameters, place) => [...pathProblems(place), ...linkProblems(place)].map((message) => ({ message })),
  describe: ({ serve, compress }) => describeExecutions(serve, compress !== false),
});

/** Creates the policy. It runs after `bearer`. Its paths are those of the links in responses (links.ts). */
export function createExecutionsPolicy(config: Config, dependencies: ExecutionsPolicyDependencies): Policy {
  const api = new ExecutionsApi(config, dependencies);
  return definePolicy(executionsDeclaration, {
    create: ({ serve, compress }) => {
      const compression = compressOptionsOf(compress);
      return async function showExecution(request, response) {
        if (dependencies.draining.aborted) throw shuttingDown({ connection: 'close' });
        try {
          await api[serve](request, response, compression);
        } catch (error) {
          throw error instanceof EngineError ? engineUnavailable(error) : error;
        }
      };
    },
  });
}

/** The handlers, one method for each value of `serve`. */
class ExecutionsApi {
  readonly #dependencies: ExecutionsPolicyDependencies;
  readonly #clients: ClientExecutions;
  readonly #maxWaitMs: number;
  readonly #maxLongPolls: number;

  constructor(config: Config, dependencies: ExecutionsPolicyDependencies) {
    this.#dependencies = dependencies;
    this.#clients = new ClientExecutions(dependencies.executions, dependencies.workflows);
    this.#maxWaitMs = config['router.maxWaitMs'];
    this.#maxLongPolls = config['router.maxLongPolls'];
  }

  async status(request: Request, response: Response): Promise<void> {
    const { execution, waited } = await this.#find(request, response);
    const { cancellations, responseOptions } = this.#dependencies;
    const { linksOf } = responseOptions;
    const shown = request.method === 'DELETE' ? await cancellations.cancel(execution, linksOf) : execution;
    const headers = {
      ...(hasEnded(shown) ? {} : { 'retry-after': '1' }),
      ...(waited === '' ? {} : { 'preference-applied': waited }),
    };
    sendDocument(response, 200, { body: documentOf(shown, linksOf), headers });
  }

  async response(request: Request, response: Response, compression: CompressOptions | undefined): Promise<void> {
    const { execution } = await this.#find(request, response);
    if (!hasEnded(execution)) throw pending(this.#dependencies.responseOptions.linksOf(execution.workflowId));
    const outcome = recordedOutcome(execution, this.#dependencies.responseOptions);
    const accepted = { method: request.method, coding: chooseCoding(request) };
    sendOutcome(response, execution.workflowId, await compressOutcome(outcome, accepted, compression));
  }

  /**
   * Finds the execution that the path names. If the client prefers to wait, first waits until the execution has ended.
   */
  async #find(request: Request, response: Response): Promise<{ execution: WholeExecution; waited: string }> {
    const context = contextOf(request);
    const { id = '' } = request.params;
    const execution = await this.#clients.find(id, context.clientId);
    context.executionId = execution.workflowId;
    context.workflowVersion = execution.workflowVersion;
    if (this.#dependencies.versions.isSplit(execution.workflowName))
      response.setHeader(versionField, String(execution.workflowVersion));
    const { waitMs, applied } = this.#waitPolicyOf(request);
    const shouldWait = waitMs > 0 && request.method !== 'DELETE' && !hasEnded(execution);
    const { longPolls, waiters, draining } = this.#dependencies;
    const { clientId = '' } = context;
    if (!shouldWait || !longPolls.hasCapacity(clientId, this.#maxLongPolls)) return { execution, waited: '' };
    return longPolls.during(clientId, async () => {
      const ended = await waiters.waitFor(id, waitMs, signalWhenGone(response), draining);
      return { execution: ended === null ? execution : await this.#readEnded(execution), waited: applied };
    });
  }

  /** Only the preference `wait` applies here. */
  #waitPolicyOf(request: Request) {
    const preferences = { ...parsePreferences(preferOf(request)), respondAsync: false };
    return waitPolicyOf(preferences, { responseDeadlineMs: 0, maxWaitMs: this.#maxWaitMs });
  }

  /**
   * Reads an execution until the engine reports that it has ended: the router may learn this slightly earlier than the
   * engine reports it.
   */
  async #readEnded(before: WholeExecution): Promise<WholeExecution> {
    const { clientId } = inboundOf(before);
    for (let tries = 0; ; tries++) {
      const execution = await this.#clients.find(before.workflowId, clientId);
      if (hasEnded(execution) || tries === maxTries) return execution;
      await pause(20);
    }
  }
}

function pending(links: ExecutionLinks): Problem {
  return new Problem('answer-pending', {
    headers: { 'retry-after': '1' },
    extensions: { links },
  });
}
