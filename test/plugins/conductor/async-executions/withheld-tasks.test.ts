// Tests of tasks that are polled while their execution is being cancelled: they are withheld until the outcome is
// known.

import { describe, expect, it } from 'vitest';
import type { ExecutionStatus, Task, WorkflowStatus } from '#lib/conductor/types.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { WithheldTasks } from '../../../../plugins/conductor/async-executions/withheld-tasks.ts';
import { pollUntil } from '../../../stack/poll-until.ts';

const task = (workflowInstanceId: string, workflowType = 'college-adaptorWF') =>
  ({ taskId: `t-${workflowInstanceId}`, taskDefName: 'intake', workflowInstanceId, workflowType }) as unknown as Task;

/** Creates an engine with these tasks in its queue; each status query returns the next of `answers`. */
function setUp(
  tasks: Task[],
  answers: (WorkflowStatus | Error)[],
  {
    waitedFor = [],
    refusals = 0,
    ...times
  }: { waitedFor?: string[]; refusals?: number; maxWithheldMs?: number; maxRequeueMs?: number } = {},
) {
  const looks: string[] = [];
  const returned: Task[] = [];
  const requeued: Task[] = [];
  const omitted: Task[] = [];
  const errors: [fields: object, message: string][] = [];
  const engine = {
    pollTasks: async () => tasks,
    async getStatus(workflowId: string): Promise<ExecutionStatus> {
      const answer = answers[Math.min(looks.push(workflowId), answers.length) - 1];
      if (answer instanceof Error) throw answer;
      return { workflowId, status: answer as WorkflowStatus };
    },
  };
  const withheld = new WithheldTasks({
    engine,
    recorder: { polled: async () => undefined },
    executions: { correlated: async () => [], terminate: async () => undefined },
    workflows: new Set(['college-adaptorWF']),
    waitedFor: new Set(waitedFor),
    giveBack: (one) => void returned.push(one),
    onOmitted: (some) => void omitted.push(...some),
    ...times,
    requeue: async (one) => requeued.push(one) > refusals,
    log: Object.assign(createLog('test', 'silent'), {
      error: (fields: object, message: string) => void errors.push([fields, message]),
    }),
  });
  return { withheld, looks, returned, requeued, omitted, errors, poll: () => withheld.poll('intake', { count: 1 }) };
}

describe('a polled task', () => {
  it('of a running execution: handed out', async () => {
    const one = task('a');
    expect(await setUp([one], ['RUNNING']).poll()).toEqual([one]);
  });

  it('whose client waits here, or whose workflow no client starts: handed out without a status query', async () => {
    const tasks = [task('a'), task('b', 'mdmWF')];
    const { poll, looks } = setUp(tasks, ['TERMINATED'], { waitedFor: ['a'] });
    expect(await poll()).toEqual(tasks);
    expect(looks).toEqual([]);
  });

  it('of a cancelled execution: omitted and reported, because the engine may have other tasks behind it', async () => {
    const { poll, looks, returned, omitted } = setUp([task('a')], ['TERMINATED']);
    expect(await poll()).toEqual([]);
    expect([looks.length, returned, omitted]).toEqual([1, [], [task('a')]]);
  });

  it('of a paused execution: handed out when the execution is resumed', async () => {
    const one = task('a');
    const { poll, returned } = setUp([one], ['PAUSED', new Error('no response'), 'PAUSED', 'RUNNING']);
    expect(await poll()).toEqual([]);
    await pollUntil('the task to be handed out', () => returned.length > 0);
    expect(returned).toEqual([one]);
  });

  it('of a paused execution that is cancelled: never handed out', async () => {
    const { poll, looks, returned } = setUp([task('a')], ['PAUSED', 'PAUSED', 'TERMINATED']);
    expect(await poll()).toEqual([]);
    await pollUntil('the end of the execution to be seen', () => looks.length === 3);
    expect(returned).toEqual([]);
  });

  it('that is withheld: does not delay other tasks of its poll, and is returned when the router stops', async () => {
    const [paused, running] = [task('a'), task('b')];
    const { poll, withheld, requeued, returned } = setUp([paused, running], ['PAUSED', 'RUNNING', 'PAUSED']);
    expect(await poll()).toEqual([running]);
    await withheld.stop();
    expect([requeued, returned]).toEqual([[paused], []]);
  });

  it.each([
    ['stays paused', ['PAUSED'], 0],
    ['has a state that cannot be read', [new Error('no response')], 0],
    ['stays paused, when the engine refuses the task twice', ['PAUSED'], 2],
  ] as const)('of an execution that %s: returned to the engine', async (_title, answers, refusals) => {
    const { poll, requeued, returned } = setUp([task('a')], [...answers], { refusals, maxWithheldMs: 10 });
    expect(await poll()).toEqual([]);
    await pollUntil('the task to be returned', () => requeued.length > refusals);
    expect([requeued.length, returned]).toEqual([refusals + 1, []]);
  });

  it('that the engine never takes back: logged as an error, because nobody can report its result', async () => {
    const refusals = Number.POSITIVE_INFINITY;
    const { poll, returned, errors } = setUp([task('a')], ['PAUSED'], {
      refusals,
      maxWithheldMs: 10,
      maxRequeueMs: 20,
    });
    expect(await poll()).toEqual([]);
    await pollUntil('the error to be logged', () => errors.length > 0);
    expect(errors).toEqual([
      [
        { taskType: 'intake', taskId: 't-a', executionId: 'a' },
        'a withheld task could not be returned to the engine; it ends at the response timeout of its task type',
      ],
    ]);
    expect(returned).toEqual([]);
  });

  it('of a fetch that ends after the stop: returned to the engine', async () => {
    const { poll, withheld, requeued } = setUp([task('a')], ['PAUSED']);
    await withheld.stop();
    expect(await poll()).toEqual([]);
    await pollUntil('the task to be returned', () => requeued.length === 1);
  });
});
