// Which events the workflows produce, and what an event carries.

import { patternOf } from './expressions.ts';
import type { DefinitionFile, Definitions } from './load-definitions.ts';
import type { Path } from './json-text.ts';
import type { WorkflowDefinition, WorkflowTask } from './schema.ts';
import { tasksOf } from './workflow-tasks.ts';

/** An EVENT task seen from the handlers' side. */
export interface ProducedEvent {
  readonly source: DefinitionFile<WorkflowDefinition>;
  readonly path: Path;
  /** `conductor:<workflow>:<sink>`, with the sink's `${…}` as they stand. */
  readonly name: string;
  /** Matches every name the event can have; one group for each `${…}`. */
  readonly pattern: RegExp;
  /** Top-level names in the payload. */
  readonly payload: ReadonlySet<string>;
}

/** What the engine adds to the task's own input. */
const addedByEngine = [
  'sink',
  'asyncComplete',
  'workflowInstanceId',
  'workflowType',
  'workflowVersion',
  'correlationId',
  'taskToDomain',
  'event_produced',
];

/** The events of every workflow version. */
export function producedEvents({ workflows }: Pick<Definitions, 'workflows'>): ProducedEvent[] {
  return workflows.flatMap((source) =>
    tasksOf(source.definition)
      .filter(({ task }) => task.type === 'EVENT' && isEngineSink(task.sink))
      .map(({ task, path }) => {
        const name = eventName(source.definition.name, task);
        const payload = new Set([...Object.keys(task.inputParameters ?? {}), ...addedByEngine]);
        return { source, path, name, pattern: patternOf(name), payload };
      }),
  );
}

/** True for the engine's own queues, the only ones that carry our events. */
export function isEngineSink(sink: string | undefined): boolean {
  return sink !== undefined && /^conductor(:|$)/.test(sink);
}

/** The engine's rule: `conductor` alone stands for the task's reference name. */
function eventName(workflow: string, { sink = '', taskReferenceName }: WorkflowTask): string {
  return sink === 'conductor'
    ? `conductor:${workflow}:${taskReferenceName}`
    : `conductor:${workflow}:${sink.replace(/^conductor:/, '')}`;
}
