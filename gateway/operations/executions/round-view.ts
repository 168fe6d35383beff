// Renders the executions of one change: a diagram from the request to the last execution, and a table of the steps.

import { nameOfState } from '#lib/conductor/executions/names.ts';
import { timelineOf } from '#lib/conductor/executions/timeline.ts';
import { responseStatusOf } from '#lib/conductor/executions/find-executions.ts';
import type { Block, Meaning, NodeBlock } from '../diagram/block.ts';
import { drawDiagram } from '../diagram/draw.ts';
import { formatMs } from '../pages/format.ts';
import { type Html, html } from '../pages/html.ts';
import { executionLink } from '../pages/links.ts';
import { meaningOf, stateBadge } from '../pages/state.ts';
import { table } from '../pages/table.ts';
import { type Round, type RoundStep, stepsOf } from './round.ts';

/**
 * Renders the executions; undefined if there are no follow-up executions.
 * @param currentId execution that the page is about
 */
export function roundView({ first, isCut }: Round, currentId: string): Html | undefined {
  const steps = stepsOf(first);
  if (steps.length < 2) return undefined;
  const startedAt = Math.min(...steps.flatMap(({ execution }) => execution?.startTime ?? []));
  const context = { currentId, startedAt };
  const [only] = first;
  const picture: Block =
    first.length === 1 && only !== undefined
      ? blockOf(only, context)
      : { kind: 'split', branches: first.map((step) => branchOf(step, context)) };
  return html`<section>
    <h2>From the request to the last execution <small>${summaryOf(steps, startedAt)}</small></h2>
    ${isCut ? html`<p class="notice">Not all follow-up executions are shown.</p>` : undefined}
    <div class="columns">
      <figure class="drawing" tabindex="0" aria-label="Executions of this change">
        ${drawDiagram(picture, 'Executions of this change')}
      </figure>
      ${tableOf(steps, startedAt)}
    </div>
  </section>`;
}

interface Context {
  readonly currentId: string;
  readonly startedAt: number;
}

function blockOf(step: RoundStep, context: Context): Block {
  const node = nodeOf(step, context);
  if (step.next.length === 0) return node;
  return {
    kind: 'sequence',
    blocks: [node, { kind: 'split', branches: step.next.map((next) => branchOf(next, context)) }],
  };
}

function branchOf(step: RoundStep, context: Context) {
  return { label: step.event, block: blockOf(step, context), isTaken: step.execution !== undefined };
}

function nodeOf(step: RoundStep, { currentId, startedAt }: Context): NodeBlock {
  const { execution } = step;
  if (execution === undefined) return { kind: 'node', title: titleOf(step), subtitle: 'not started', meaning: 'late' };
  const { workflowId, status, endTime } = execution;
  const responseStatus = responseStatusOf(execution.output);
  const result = responseStatus === undefined ? nameOfState(status) : `${nameOfState(status)}, ${responseStatus}`;
  return {
    kind: 'node',
    title: titleOf(step),
    subtitle: endTime > 0 ? `${result}, after ${formatMs(endTime - startedAt)}` : result,
    meaning: meaningOf(status) as Meaning,
    href: workflowId === currentId ? undefined : `/executions/${encodeURIComponent(workflowId)}`,
    isCurrent: workflowId === currentId,
  };
}

function titleOf({ workflow, college }: RoundStep): string {
  return college === undefined ? workflow : `${workflow} ${college}`;
}

function summaryOf(steps: readonly RoundStep[], startedAt: number): string {
  const missing = steps.filter(({ execution }) => execution === undefined).length;
  const count = (meaning: Meaning) =>
    steps.filter(({ execution }) => execution !== undefined && meaningOf(execution.status) === meaning).length;
  const [failed, open, paused] = [count('bad'), count('open'), count('late')];
  const parts = [
    ...(failed > 0 ? [`${failed} unsuccessful`] : []),
    ...(open > 0 ? [`${open} running`] : []),
    ...(paused > 0 ? [`${paused} paused`] : []),
    ...(missing > 0 ? [`${missing} not started`] : []),
  ];
  if (parts.length > 0) return parts.join(', ');
  const last = Math.max(...steps.map(({ execution }) => execution?.endTime ?? 0));
  return `all ${steps.length} completed within ${formatMs(last - startedAt)}`;
}

function tableOf(steps: readonly RoundStep[], startedAt: number): Html {
  return table(
    'plain',
    ['workflow', 'college', 'state', 'started after', 'ended after', 'execution'],
    steps.map((step) => rowOf(step, startedAt)),
  );
}

function rowOf({ workflow, college, execution, isExpected, event }: RoundStep, startedAt: number): Html {
  const after = (time: number) => (time > 0 ? formatMs(Math.max(0, time - startedAt)) : '–');
  const heading = html`<th scope="row">${workflow}</th>
    <td data-label="college">${college ?? '–'}</td>`;
  if (execution === undefined)
    return html`<tr>
      ${heading}
      <td data-label="state" colspan="4" class="wide late">
        not started:
        ${
          isExpected
            ? `the event ${event} is on its way or was lost. The reconciler starts executions whose event was lost.`
            : `the condition of the handler of ${event} is false.`
        }
      </td>
    </tr>`;
  const { waitsFor } = timelineOf(execution, Date.now());
  return html`<tr>
    ${heading}
    <td data-label="state">
      ${stateBadge(execution.status)} ${waitsFor === undefined ? undefined : html`<small>waits for ${waitsFor}</small>`}
    </td>
    <td data-label="started after">${after(execution.startTime)}</td>
    <td data-label="ended after">${after(execution.endTime)}</td>
    <td data-label="execution" class="wide">${executionLink(execution.workflowId)}</td>
  </tr>`;
}
