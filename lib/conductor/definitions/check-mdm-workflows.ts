// Checks that the reconciler can repair lost events. The reconciler finds tasks by their reference names, and reads
// records through one workflow version.

import { type ProducedEvent, producedEvents } from './events.ts';
import { type Expression, findExpressions } from './expressions.ts';
import { type Definitions, fileOf, problemAt } from './load-definitions.ts';
import {
  intakeTask,
  notifyTask,
  notifyWorkflow,
  patchWorkflow,
  readVersion,
  shareWorkflow,
  systemLoop,
} from './mdm-workflows.ts';
import { findWorkflow, tasksOf } from './workflow-tasks.ts';

/**
 * Events whose handlers start an execution. When such an event is lost, the reconciler starts the execution instead.
 */
interface RepairedEvents {
  readonly producer: string;
  readonly started: string;
  /** Reference names of the tasks whose output the reconciler reads. */
  readonly tasks: readonly string[];
}

const patched: RepairedEvents = { producer: patchWorkflow, started: notifyWorkflow, tasks: [intakeTask] };
const shared: RepairedEvents = { producer: notifyWorkflow, started: shareWorkflow, tasks: [notifyTask, systemLoop] };

/** Fields of `${workflow.…}` that the reconciler resolves. */
const workflowFields = ['input', 'workflowId', 'correlationId'];

/** Checks the workflow versions whose events start mdmWF or mdm-shareWF. Returns one line per problem. */
export function checkMdmWorkflows(definitions: Definitions): string[] {
  const [patches, shares] = [patched, shared].map((kind) => eventsOf(definitions, kind)) as [Events, Events];
  return [
    ...patches.flatMap((event) => checkEvent(event, patched)),
    ...shares.flatMap((event) => checkEvent(event, shared)),
    ...checkReadVersion(definitions, patches),
  ];
}

type Events = readonly ProducedEvent[];

function eventsOf(definitions: Definitions, { producer, started }: RepairedEvents): Events {
  const handlers = definitions.eventHandlers
    .map(({ definition }) => definition)
    .filter(({ actions }) => actions.some((action) => action.start_workflow.name === started));
  return producedEvents(definitions).filter(
    ({ source, pattern }) => source.definition.name === producer && handlers.some(({ event }) => pattern.test(event)),
  );
}

/**
 * Checks that the reconciler can resolve the expressions of an event. If the outcome of an execution is unknown, the
 * reconciler has only the outputs of the tasks that it reads.
 */
function checkEvent({ source, path }: ProducedEvent, { tasks }: RepairedEvents): string[] {
  const located = tasksOf(source.definition);
  const missing = tasks.filter((name) => !located.some(({ task }) => task.taskReferenceName === name));
  if (missing.length > 0) {
    return missing.map((name) =>
      problemAt(
        source,
        path,
        `this workflow has no task with the taskReferenceName "${name}": the reconciler reads the output of this task to repair lost events, so give this name to the task that produces that output`,
      ),
    );
  }
  const task = located.find((other) => String(other.path) === String(path))?.task;
  const isReadable = ({ steps: [root = '', field = ''] }: Expression) =>
    root === 'workflow' ? workflowFields.includes(field) : tasks.includes(root);
  const readable = [...workflowFields.map((field) => `workflow.${field}`), ...tasks];
  return findExpressions({ inputParameters: task?.inputParameters, sink: task?.sink }, path)
    .filter((expression) => !isReadable(expression))
    .map(({ path: at, text }) =>
      problemAt(
        source,
        at,
        `\${${text}}: the reconciler cannot resolve this for a lost event: use only ${listOf(readable)}`,
      ),
    );
}

function checkReadVersion(definitions: Definitions, [event]: Events): string[] {
  if (event === undefined) return [];
  const purpose = 'to read a record and find out whether a PATCH was applied';
  const version = { name: patchWorkflow, version: readVersion };
  const reader = findWorkflow(definitions, version);
  if (reader === undefined) {
    return [
      problemAt(
        event.source,
        event.path,
        `${fileOf('workflow', version)} is missing: the reconciler needs it ${purpose}`,
      ),
    ];
  }
  return producedEvents({ workflows: [reader] }).map(({ source, path }) =>
    problemAt(
      source,
      path,
      `version ${readVersion} must produce no event, because the reconciler starts it ${purpose}; add the event to a new version`,
    ),
  );
}

function listOf(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;
}
