// Formats the timeline of an execution.

import type { Timeline, TimelineStep } from '#lib/conductor/executions/timeline.ts';
import { paint, printable } from '../../output/colours.ts';
import { formatSpan } from '../../input/duration.ts';
import { formatTable } from '../../output/table.ts';
import { paintState } from './paint-state.ts';
import { describeReason } from '#lib/envelope/describe-reason.ts';

const columns = ['at', 'task', 'type', 'state', 'attempt', 'waited', 'took', 'worker', 'domain'];

/** Returns the lines of a table. If a step did not complete, the line below it gives the reason. */
export function describeSteps({ steps }: Timeline): string[] {
  if (steps.length === 0) return ['the engine has scheduled no task for this execution'];
  const [heading = '', ...rows] = formatTable(columns, steps.map(toRow));
  return [
    heading,
    ...rows.flatMap((row, index) => {
      const { reason, nextTryAfterSeconds } = steps[index] as TimelineStep;
      return [
        row,
        ...(reason === undefined ? [] : [paint('faint', `  ${printable(describeReason(reason))}`)]),
        ...(nextTryAfterSeconds === undefined
          ? []
          : [paint('faint', `  will be retried ${nextTryAfterSeconds} s after its last report`)]),
      ];
    }),
  ];
}

function toRow(step: TimelineStep): string[] {
  const { task, type, state, attempt, polls, scheduledAfterMs, waitedMs, tookMs, worker, domain } = step;
  const span = (ms: number | undefined) => (ms === undefined ? '-' : formatSpan(ms));
  return [
    `+${formatSpan(scheduledAfterMs)}`,
    printable(task),
    type === task ? 'SIMPLE' : printable(type),
    paintState(state),
    polls > 1 ? `${attempt} (taken ${polls} times)` : String(attempt),
    span(waitedMs),
    span(tookMs),
    printable(worker ?? '-'),
    printable(domain ?? '-'),
  ];
}
