// Renders the timeline of an execution: one row for each attempt of a task, with a bar on the time axis of the
// execution.

import { describeReason } from '#lib/envelope/describe-reason.ts';
import type { Timeline, TimelineStep } from '#lib/conductor/executions/timeline.ts';
import { formatMs } from '../pages/format.ts';
import { type Html, html } from '../pages/html.ts';
import { meaningOf, stateBadge } from '../pages/state.ts';
import { table } from '../pages/table.ts';

/** Renders the timeline. */
export function timelineView({ steps, totalMs }: Timeline): Html {
  if (steps.length === 0) return html`<p class="none">The engine has scheduled no task for this execution.</p>`;
  // Optional tasks may end after the execution.
  const ends = steps.map(({ scheduledAfterMs, waitedMs = 0, tookMs = 0 }) => scheduledAfterMs + waitedMs + tookMs);
  const longestMs = Math.max(1, totalMs, ...ends);
  return table(
    'timeline',
    ['task', 'state', 'after', 'waited', 'took', 'worker', `0 to ${formatMs(longestMs)}`],
    steps.map((step) => rowOf(step, longestMs)),
  );
}

function rowOf(step: TimelineStep, longestMs: number): Html {
  const { task, type, state, attempt, polls, scheduledAfterMs, waitedMs, tookMs, worker, domain } = step;
  const attempts = [
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
    ...(polls > 1 ? [`taken ${polls} times`] : []),
  ].join(', ');
  return html`<tr>
    <th scope="row">${task} <small>${type === task ? 'SIMPLE' : type}</small></th>
    <td data-label="state" class="wide">
      ${stateBadge(state)} ${attempts === '' ? undefined : html`<small>${attempts}</small>`} ${why(step)}
    </td>
    <td data-label="after">${formatMs(scheduledAfterMs)}</td>
    <td data-label="waited">${formatMs(waitedMs)}</td>
    <td data-label="took">${formatMs(tookMs)}</td>
    <td data-label="worker" class="wide">
      ${worker ?? '–'} ${domain === undefined ? undefined : html`<small>domain ${domain}</small>`}
    </td>
    <td class="bar wide">${barOf(step, longestMs)}</td>
  </tr>`;
}

function why({ reason, nextTryAfterSeconds }: TimelineStep): Html {
  const lines = [
    ...(reason === undefined ? [] : [describeReason(reason)]),
    ...(nextTryAfterSeconds === undefined ? [] : [`will be retried ${nextTryAfterSeconds} s after its last report`]),
  ];
  return html`${lines.map((line) => html`<small class="reason">${line}</small>`)}`;
}

/** Draws the bar of a step. The waiting time has a lighter colour than the work. */
function barOf({ state, scheduledAfterMs, waitedMs = 0, tookMs }: TimelineStep, longestMs: number): Html {
  const scale = (ms: number) => (1_000 * ms) / longestMs;
  const begin = scale(scheduledAfterMs);
  const work = begin + scale(waitedMs);
  const end = tookMs === undefined ? 1_000 : work + scale(tookMs);
  // Even the shortest step stays visible.
  const width = Math.max(4, end - work);
  const at = Math.min(work, 1_000 - width);
  return html`<svg viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true">
    <rect class="axis" x="0" y="5" width="1000" height="2" />
    <rect class="waited" x="${begin}" y="2" width="${Math.max(0, at - begin)}" height="8" />
    <rect class="${meaningOf(state)}" x="${at}" y="1" width="${width}" height="10" />
  </svg>`;
}
