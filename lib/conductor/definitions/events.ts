// Lists the events that workflows produce, with the fields of their payload.

import { resolvedPattern } from './expressions.ts';
import type { DefinitionFile, Definitions } from './load-definitions.ts';
import type { Path } from './json-text.ts';
import type { WorkflowDefinition, WorkflowTask } from './schema.ts';
import { tasksOf } from './workflow-tasks.ts';

/** An event that an EVENT task produces. */
export interface ProducedEvent {
  readonly source: DefinitionFile<WorkflowDefinition>;
  readonly path: Path;
  /** `conductor:<workflow>:<sink>`, in which any `${…}` of the sink is unresolved. */
  readonly name: string;
  /** Matches every possible name of the event, with one group per `${…}`. */
  readonly pattern: RegExp;
  /** Top-level fields of the payload. */
  readonly payload: ReadonlySet<string>;
}

/** Fields of the payload that the engine adds to the task's own input. */
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

/** Returns the events of all workflow versions. */
export function producedEvents({ workflows }: Pick<Definitions, 'workflows'>): ProducedEvent[] {
  return workflows.flatMap((source) =>
    tasksOf(source.definition)
      .filter(({ task }) => task.type === 'EVENT' && isEngineSink(task.sink))
      .map(({ task, path }) => {
        const name = eventName(source.definition.name, task);
        const payload = new Set([...Object.keys(task.inputParameters ?? {}), ...addedByEngine]);
        return { source, path, name, pattern: resolvedPattern(name), payload };
      }),
  );
}

/** Returns true for a sink that is a queue of the engine. Workflows may use no other kind of sink. */
export function isEngineSink(sink: string | undefined): boolean {
  return sink !== undefined && /^conductor(:|$)/.test(sink);
}

/** Returns the name of an event. By Conductor's rule, the sink `conductor` stands for the task's reference name. */
export function eventName(
  workflow: string,
  { sink = '', taskReferenceName }: Pick<WorkflowTask, 'sink' | 'taskReferenceName'>,
): string {
  return sink === 'conductor'
    ? `conductor:${workflow}:${taskReferenceName}`
    : `conductor:${workflow}:${sink.replace(/^conductor:/, '')}`;
}
