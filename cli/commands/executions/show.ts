// The command `executions show`: shows one execution with its tasks in order.

import { callerOf } from '#lib/conductor/executions/caller.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { NoExecutionIndex } from '#lib/conductor/executions/execution-index.ts';
import { withDeprecatedMembers } from '../../output/deprecated-members.ts';
import { responseStatusOf } from '#lib/conductor/executions/find-executions.ts';
import { type Timeline, timelineOf } from '#lib/conductor/executions/timeline.ts';
import { printable } from '../../output/colours.ts';
import { addEngineOptions, type EngineAccessOptions, openEngine } from '../../engine/engine-access.ts';
import { formatSpan } from '../../input/duration.ts';
import { parseExecutionId } from '../../input/names.ts';
import { type Outcome, CommandError } from '../../outcome.ts';
import { alignColumns } from '../../output/table.ts';
import type { CommandDefinition, CommandContext } from '../../command-definition.ts';
import { paintState } from './paint-state.ts';
import { readPayload } from './payload.ts';
import { describeReason } from '#lib/envelope/describe-reason.ts';
import { describeSteps } from './step-lines.ts';

/** Options of `executions show`. */
export interface ShowOptions extends EngineAccessOptions {
  readonly payload?: boolean;
}

/** The command `executions show`. */
export const showExecution: CommandDefinition<ShowOptions> = {
  name: 'show',
  description: 'Show one execution: its client, its tasks in order, how long they waited, their workers and failures.',
  exitCodes: { 0: 'the execution is shown', 1: 'error: the engine has no such execution, or is unreachable' },
  examples: [
    {
      command: 'executions show 8d7639e9-acd5-4759-a909-d12318e8e65b',
      does: 'the id is the X-Execution-Id of a response',
    },
    {
      command: 'executions show 8d7639e9-acd5-4759-a909-d12318e8e65b --payload',
      does: 'show paths and bodies, which contain personal data',
    },
  ],
  addOptions: (command) =>
    addEngineOptions(command.argument('<id>', 'execution id')).option(
      '--payload',
      'also show the request and the response, decrypted with the keys of payload.*',
    ),
  run: runShow,
};

/** Reads one execution. @throws ConfigError, EngineError, or CommandError when the engine has no such execution */
async function runShow(options: ShowOptions, { args, host }: Pick<CommandContext, 'args' | 'host'>): Promise<Outcome> {
  const id = parseExecutionId(args[0] ?? '');
  const engine = await openEngine(options, host);
  try {
    const api = engine.executions;
    const execution = await api.readWhole(id);
    if (execution === null)
      throw new CommandError([`${engine.address} has no execution ${id}: it may have been pruned`]);
    return describe(execution, {
      timeline: timelineOf(execution, Date.now()),
      ...(await findFollowers(id, api)),
      payload: options.payload === true ? readPayload(execution, engine.config) : undefined,
    });
  } finally {
    await engine.close();
  }
}

/** The follow-up executions of an execution; `followsUnknown`: why they cannot be found. */
interface Followers {
  readonly follows: readonly { readonly executionId: string; readonly workflow: string; readonly state: string }[];
  readonly followsUnknown?: string;
}

async function findFollowers(id: string, api: ExecutionApi): Promise<Followers> {
  try {
    const { executions } = await api.search({ correlationIds: [id] }, { offset: 0, size: 20 });
    const others = executions.filter(({ workflowId }) => workflowId !== id);
    return {
      follows: others.map(({ workflowId: executionId, workflowType: workflow, status: state }) => ({
        ...{ executionId, workflow, state },
      })),
    };
  } catch (error) {
    if (!(error instanceof NoExecutionIndex)) throw error;
    return { follows: [], followsUnknown: error.message };
  }
}

interface Shown extends Followers {
  readonly timeline: Timeline;
  readonly payload: ReturnType<typeof readPayload> | undefined;
}

function describe(execution: WholeExecution, shown: Shown): Outcome {
  const { timeline, follows, followsUnknown, payload } = shown;
  const followers = follows.map(({ executionId, workflow, state }) => [executionId, workflow, paintState(state)]);
  return {
    exitCode: 0,
    lines: [
      ...describeHead(execution, timeline),
      '',
      ...describeSteps(timeline),
      ...(followers.length === 0
        ? []
        : ['', 'follow-up executions', ...alignColumns(followers).map((line) => `  ${line}`)]),
      ...(followsUnknown === undefined ? [] : ['', `follow-up executions are unknown: ${followsUnknown}`]),
      ...(payload === undefined ? [] : ['', ...payload.lines]),
    ],
    json: toJson(execution, shown),
  };
}

const time = (ms: number) => new Date(ms).toISOString();

function reasonOf({ reasonForIncompletion }: WholeExecution): string | undefined {
  return reasonForIncompletion === undefined ? undefined : describeReason(reasonForIncompletion);
}

function describeHead(execution: WholeExecution, { totalMs, waitsFor }: Timeline): string[] {
  const { workflowId, workflowName, workflowVersion, status, startTime, endTime, input, output } = execution;
  const { route, method, college, clientId, requestId } = callerOf(input);
  const reason = reasonOf(execution);
  const responseStatus = responseStatusOf(output);
  const rows: [name: string, value: string | undefined][] = [
    ['execution', workflowId],
    ['workflow', `${workflowName} v${workflowVersion}`],
    ['state', `${paintState(status)}${reason === undefined ? '' : `: ${printable(reason)}`}`],
    ['started', time(startTime)],
    [
      'ended',
      endTime > 0 ? `${time(endTime)}, after ${formatSpan(totalMs)}` : `not yet; running for ${formatSpan(totalMs)}`,
    ],
    ['response', responseStatus === undefined ? undefined : String(responseStatus)],
    ...Object.entries({ route, method, college, client: clientId, request: requestId }).map(
      ([name, value]): [string, string | undefined] => [name, value === undefined ? undefined : printable(value)],
    ),
    ['waits for', waitsFor],
  ];
  return alignColumns(rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

function toJson(
  execution: WholeExecution,
  { timeline, follows, followsUnknown, payload }: Shown,
): Record<string, unknown> {
  const { workflowId, workflowName, workflowVersion, status, startTime, endTime, input, output } = execution;
  const reason = reasonOf(execution);
  const responseStatus = responseStatusOf(output);
  const steps = timeline.steps.map((step) => ({
    ...step,
    ...(step.reason === undefined ? {} : { reason: describeReason(step.reason) }),
  }));
  return {
    ok: true,
    executionId: workflowId,
    workflow: workflowName,
    version: workflowVersion,
    state: status,
    ...(reason === undefined ? {} : { reason }),
    startedAt: time(startTime),
    ...(endTime > 0 ? { endedAt: time(endTime) } : {}),
    ...(responseStatus === undefined ? {} : withDeprecatedMembers({ responseStatus })),
    ...callerOf(input),
    timeline: { ...timeline, steps },
    follows,
    ...(followsUnknown === undefined ? {} : { followsUnknown }),
    ...(payload === undefined ? {} : { payload: payload.json }),
  };
}
