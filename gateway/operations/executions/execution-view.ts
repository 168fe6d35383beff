// Renders one execution: its properties, follow-up executions, timeline, diagram, and masked input and output.

import { callerOf } from '#lib/conductor/executions/caller.ts';
import type { ExecutedTask, WholeExecution } from '#lib/conductor/executions/execution.ts';
import { responseStatusOf } from '#lib/conductor/executions/find-executions.ts';
import { type Timeline, timelineOf } from '#lib/conductor/executions/timeline.ts';
import { describeReason } from '#lib/envelope/describe-reason.ts';
import { maskPayload } from '#lib/envelope/mask-payload.ts';
import { drawDiagram } from '../diagram/draw.ts';
import { type DefinedTask, workflowDiagram } from '../diagram/workflow-diagram.ts';
import { formatMs } from '../pages/format.ts';
import { type Html, html } from '../pages/html.ts';
import { engineUiLink, timeOf } from '../pages/links.ts';
import { stateBadge } from '../pages/state.ts';
import { listAddress } from './list-filter.ts';
import type { Round } from './round.ts';
import { roundView } from './round-view.ts';
import { timelineView } from './timeline-view.ts';

/** Renders an execution. @param uiURL base URL of the engine's UI (`conductor.uiURL`) */
export function executionView(execution: WholeExecution, round: Round, uiURL: string | undefined): Html {
  const { workflowName, workflowVersion, workflowDefinition, tasks } = execution;
  const timeline = timelineOf(execution, Date.now());
  const diagram = workflowDiagram(workflowDefinition as { tasks?: DefinedTask[] } | undefined, tasks);
  const title = `${workflowName} version ${workflowVersion}`;
  return html`${head(execution, timeline)}
    <p class="links">${links(execution, uiURL)}</p>
    ${roundView(round, execution.workflowId)}
    <section>
      <h2>Timeline</h2>
      ${timelineView(timeline)}
    </section>
    <div class="columns">
      <section>
        <h2>Workflow <small>${title}</small></h2>
        <figure class="drawing" tabindex="0" aria-label="Diagram of ${title}">${drawDiagram(diagram, title)}</figure>
      </section>
      <section>
        <h2>Input and output <small>masked: only fields without personal data are shown</small></h2>
        ${payload('Input', execution.input)} ${payload('Output', execution.output)} ${tasks.map(payloadsOfTask)}
      </section>
    </div>`;
}

function head(execution: WholeExecution, { totalMs, waitsFor }: Timeline): Html {
  const { workflowId, status, startTime, endTime, input, output, correlationId, reasonForIncompletion } = execution;
  const { route, method, college, clientId, requestId } = callerOf(input);
  const reason = reasonForIncompletion === undefined ? undefined : describeReason(reasonForIncompletion);
  const rows: [name: string, value: Html | string | number | undefined, width?: 'wide' | 'two' | ''][] = [
    [
      'state',
      html`${stateBadge(status)} ${reason === undefined ? undefined : html`<span class="reason">${reason}</span>`}`,
      reason === undefined ? '' : 'wide',
    ],
    ['waits for', waitsFor, 'wide'],
    ['execution', html`<code>${workflowId}</code>`, 'two'],
    ['started (UTC)', timeOf(startTime)],
    [endTime > 0 ? 'took' : 'running for', formatMs(totalMs)],
    ['response', responseStatusOf(output)],
    ['request', [method, route].filter((part) => part !== undefined).join(' ') || undefined],
    ['college', college],
    ['client', clientId],
    ['request id', requestId === undefined ? undefined : html`<code>${requestId}</code>`, 'two'],
    [
      'correlation id',
      correlationId === requestId || !correlationId ? undefined : html`<code>${correlationId}</code>`,
      'two',
    ],
  ];
  return html`<dl class="facts">
    ${rows.map(([name, value, width = '']) =>
      value === undefined
        ? html``
        : html`<div class="${width}">
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
    )}
  </dl>`;
}

function links({ workflowId, workflowName, input }: WholeExecution, uiURL: string | undefined): Html {
  const { route, clientId } = callerOf(input);
  const list = (name: string, query: Parameters<typeof listAddress>[0]) =>
    html`<a href="${listAddress(query)}">${name}</a>`;
  return html`<span>Executions of</span> ${route === undefined ? undefined : list(`route ${route}`, { route })}
    ${clientId === undefined ? undefined : list(`client ${clientId}`, { client: clientId })}
    ${list(`workflow ${workflowName}`, { workflow: workflowName })} ${engineUiLink(workflowId, uiURL)}`;
}

function payload(name: string, value: unknown): Html {
  const isEmpty = value === undefined || value === null || Object.keys(value).length === 0;
  if (isEmpty) return html``;
  return html`<details>
    <summary>${name}</summary>
    <pre tabindex="0">${JSON.stringify(maskPayload(value), null, 2)}</pre>
  </details>`;
}

function payloadsOfTask({ referenceTaskName, inputData, outputData }: ExecutedTask): Html {
  return html`${payload(`Input of ${referenceTaskName}`, inputData)}
  ${payload(`Output of ${referenceTaskName}`, outputData)}`;
}
