// Probes back ends to check whether a PATCH was applied: reads the resource of the PATCH through a workflow version that
// publishes no event.

import { intakeTask, patchWorkflow, readVersion } from '#lib/conductor/definitions/mdm-workflows.ts';
import type { ExecutedTask, WholeExecution } from '#lib/conductor/executions/execution.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import { reconcilerRoute } from '#lib/envelope/inbound.ts';
import type { BackEndResponse } from '#lib/envelope/outbound.ts';
import type { PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { readableBody } from '#lib/http/readable-body.ts';
import { isRetryableStatus } from '#lib/http/statuses.ts';
import { type Decision, type DecisionContext, hasElapsed, lastTask, settled } from './decision.ts';
import { appliedChangeOf } from './applied-change.ts';
import type { ProbeState } from './probe-limiter.ts';

/** An execution that reads the resource of a PATCH. */
export type Probe = WholeExecution;

/** Largest decoded patch or record, in bytes; a larger one is not compared. */
const maxDecodedBytes = 8 * 1024 * 1024;
/** Longest pause between two probes, in milliseconds. */
const maxPauseMs = 600_000;

/** Returns true for an execution that the reconciler started as a probe. */
export function isProbe({ workflowName, workflowVersion, input }: WholeExecution): boolean {
  const { route } = (input['inbound'] ?? {}) as { route?: unknown };
  return workflowName === patchWorkflow && workflowVersion === readVersion && route === reconcilerRoute;
}

/** Returns the back end that a probe of the execution calls: the MIS code of the college. */
export function probedBackEnd({ input }: WholeExecution): string {
  const { params } = (input['inbound'] ?? {}) as { params?: { mis?: unknown } };
  return String(params?.mis);
}

/** Returns the state of the last probe; undefined without probes. */
export function probeStateOf(probes: readonly Probe[], codec: PayloadCodec): ProbeState | undefined {
  const last = probes.at(-1);
  if (last === undefined) return undefined;
  if (!hasEnded(last)) return 'under-way';
  return readResponse(last, codec) === null ? 'unanswered' : 'answered';
}

/** Returns the back end's response to the last probe, or the decision to make while there is none. */
export function findResponse(
  execution: WholeExecution,
  probes: readonly Probe[],
  context: DecisionContext,
): Decision | BackEndResponse {
  const last = probes.at(-1);
  if (last === undefined) return requestProbe(execution, context);
  if (!hasEnded(last)) return { kind: 'asked', case: 'outcome_unknown' };
  const response = readResponse(last, context.codec);
  if (response !== null) return response;
  const pauseMs = Math.min(context.afterMs * 2 ** (probes.length - 1), maxPauseMs);
  return hasElapsed(last.endTime, { now: context.now, afterMs: pauseMs })
    ? requestProbe(execution, context)
    : { kind: 'unanswered', case: 'outcome_unknown' };
}

/**
 * Decides what to do about a PATCH, from the response to its probe.
 * @param handlers `applied` is called with the packed response when the PATCH was applied
 */
export function decideByResponse(
  execution: WholeExecution,
  response: BackEndResponse,
  handlers: { applied: (outbound: object) => Decision; codec: PayloadCodec },
): Decision {
  const undecided = (reason: string): Decision => ({ kind: 'undecided', case: 'outcome_unknown', reason });
  // The person does not exist, so there is nothing to notify MDM of.
  if (response.status === 404 || response.status === 410) return settled;
  if (response.status < 200 || response.status > 299)
    return undecided(`the back end responded to a GET with status ${response.status}`);
  const { inbound } = execution.input;
  const patch = readableBody(handlers.codec.unpackInbound(inbound), maxDecodedBytes);
  switch (appliedChangeOf(patch, readableBody(response, maxDecodedBytes))) {
    case 'all':
    case 'some':
      return handlers.applied({
        ...handlers.codec.packOutbound(response, { inbound, executionId: execution.workflowId }),
        ...answeredAt(lastTask(execution, intakeTask)),
      });
    case 'none':
      return settled;
    case 'unclear':
      return undecided('the PATCH or the record is not a JSON object, or the PATCH is empty');
  }
}

/**
 * Returns the time of the PATCH, which MDM uses to determine the newest notification. The time of the probe would be
 * too late: writes between the PATCH and the probe cause their own notifications. If the worker reported a failure, the
 * time is the end of its task, because the PATCH may have been applied at any time until then. It may even have
 * replaced the value of another PATCH that began later and took less time. The price of this choice is that a write
 * between the start and the end of the task, at this or another college, seems older than the PATCH, although it may be
 * newer. If the worker reported nothing, the time is the start of its task, because the end of the task says nothing
 * about the back end.
 */
function answeredAt({ status = '', startTime = 0, endTime = 0 }: Partial<ExecutedTask> = {}): { answeredAt?: string } {
  const time = status.startsWith('FAILED') ? endTime : startTime;
  return time === 0 ? {} : { answeredAt: new Date(time).toISOString() };
}

/** Returns the decision to start a probe: a GET of the same path in the same task domain. */
function requestProbe(execution: WholeExecution, { codec }: DecisionContext): Decision {
  const packed = execution.input['inbound'] as { params?: object } | undefined;
  const { path, query, params, requestId } = codec.unpackInbound(packed);
  const inbound = codec.packInbound(
    {
      httpMethod: 'GET',
      path,
      query,
      params,
      headers: { accept: 'application/json' },
      body: new Uint8Array(),
      requestId,
      clientId: reconcilerRoute,
      route: reconcilerRoute,
    },
    Object.keys(packed?.params ?? {}),
  );
  const domains = execution.taskToDomain ?? {};
  const request: StartWorkflowRequest = {
    name: patchWorkflow,
    version: readVersion,
    correlationId: execution.workflowId,
    input: { inbound },
    ...(Object.keys(domains).length === 0 ? {} : { taskToDomain: { ...domains } }),
  };
  return { kind: 'ask', case: 'outcome_unknown', request };
}

/**
 * Returns the response to a completed probe; null if there is none, it cannot be read, or its status is retryable (5xx,
 * 408, 425, 429).
 */
function readResponse({ status, output, workflowId }: Probe, codec: PayloadCodec): BackEndResponse | null {
  if (status !== 'COMPLETED') return null;
  try {
    const response = codec.unpackOutbound(output['outbound'], workflowId);
    return isRetryableStatus(response.status) ? null : response;
  } catch {
    return null;
  }
}
