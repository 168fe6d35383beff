// Asking a back end what became of a PATCH: a GET of the same resource, as an execution of the version without an event.

import type { WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import { reconcilerRoute } from '#lib/envelope/inbound.ts';
import type { Answer } from '#lib/envelope/outbound.ts';
import type { PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { type Decision, type DecisionContext, isOver, lastTask, settled } from './decision.ts';
import { intakeTask, patchWorkflow, readVersion } from './mdm-definitions.ts';
import { appliedChangeOf } from './applied-change.ts';
import type { QuestionState } from './probe-limiter.ts';

/** An execution that asked. */
export type Probe = WholeExecution;

/** Longest pause between two tries, in milliseconds. */
const maxPauseMs = 600_000;
const tryAgain = new Set([408, 425, 429]);

/** True for an execution that this module has started. */
export function isProbe({ workflowName, workflowVersion, input }: WholeExecution): boolean {
  const { route } = (input['inbound'] ?? {}) as { route?: unknown };
  return workflowName === patchWorkflow && workflowVersion === readVersion && route === reconcilerRoute;
}

/** The back end that a probe of this execution asks: one college, known by its MIS code. */
export function askedBackEnd({ input }: WholeExecution): string {
  const { params } = (input['inbound'] ?? {}) as { params?: { mis?: unknown } };
  return String(params?.mis);
}

/** How the last of these probes is; undefined without any. */
export function questionOf(probes: readonly Probe[], codec: PayloadCodec): QuestionState | undefined {
  const last = probes.at(-1);
  if (last === undefined) return undefined;
  if (isUnderWay(last)) return 'under-way';
  return readAnswer(last, codec) === null ? 'unanswered' : 'answered';
}

/** The answer of the back end, or what to do as long as there is none. */
export function findAnswer(
  execution: WholeExecution,
  probes: readonly Probe[],
  context: DecisionContext,
): Decision | Answer {
  const last = probes.at(-1);
  if (last === undefined) return ask(execution, context);
  if (isUnderWay(last)) return { kind: 'asked', case: 'outcome_unknown' };
  const answer = readAnswer(last, context.codec);
  if (answer !== null) return answer;
  const pauseMs = Math.min(context.afterMs * 2 ** (probes.length - 1), maxPauseMs);
  return isOver(last.endTime, { now: context.now, afterMs: pauseMs })
    ? ask(execution, context)
    : { kind: 'unanswered', case: 'outcome_unknown' };
}

function isUnderWay({ status }: Probe): boolean {
  return status === 'RUNNING' || status === 'PAUSED';
}

/**
 * What the answer says of the PATCH.
 * @param given `applied`: called with the answer, packed like that of the PATCH itself
 */
export function decideByAnswer(
  execution: WholeExecution,
  answer: Answer,
  given: { applied: (outbound: object) => Decision; codec: PayloadCodec },
): Decision {
  const undecided = (reason: string): Decision => ({ kind: 'undecided', case: 'outcome_unknown', reason });
  // Nobody is there: nothing that MDM could be told of.
  if (answer.status === 404 || answer.status === 410) return settled;
  if (answer.status < 200 || answer.status > 299) return undecided(`the back end answered ${answer.status} to a GET`);
  const { inbound } = execution.input;
  switch (appliedChangeOf(given.codec.unpackInbound(inbound).body, answer.body)) {
    case 'all':
    case 'some':
      return given.applied({
        ...given.codec.packOutbound(answer, { inbound, executionId: execution.workflowId }),
        // Of the PATCH, not of this answer: what was written since is newer, and MDM hears of it by itself.
        ...answeredAt(lastTask(execution, intakeTask)?.startTime),
      });
    case 'none':
      return settled;
    case 'unclear':
      return undecided('the PATCH or the record is no JSON object');
  }
}

function answeredAt(time = 0): { answeredAt?: string } {
  return time === 0 ? {} : { answeredAt: new Date(time).toISOString() };
}

/** The GET goes where the PATCH went, to the same pool of workers. */
function ask(execution: WholeExecution, { codec }: DecisionContext): Decision {
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

/** What the back end said; null for nothing, and for an answer that says no more than to come again. */
function readAnswer({ status, output, workflowId }: Probe, codec: PayloadCodec): Answer | null {
  if (status !== 'COMPLETED') return null;
  try {
    const answer = codec.unpackOutbound(output['outbound'], workflowId);
    return answer.status < 500 && !tryAgain.has(answer.status) ? answer : null;
  } catch {
    return null;
  }
}
