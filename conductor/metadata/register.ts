// Brings an engine's definitions in step with the files: task definitions, then workflows, then event handlers.

import type { Definitions } from '../definitions/load-definitions.ts';
import type { MetadataApi, RegisteredDefinition, RegisteredDefinitions } from './metadata-api.ts';
import { compareDefinition, type Difference } from './compare.ts';
import type { DefinitionKind } from './normalise.ts';

/** One definition against the engine. */
export interface PlannedDefinition {
  readonly kind: DefinitionKind;
  readonly name: string;
  /** Of a workflow. */
  readonly version?: number;
  readonly file: string;
  /** What registering does, or would do, with it. */
  readonly state: 'created' | 'changed' | 'unchanged';
  /** For `changed`. */
  readonly differences: readonly Difference[];
  /** Sends it to the engine. */
  readonly apply: (api: MetadataApi) => Promise<void>;
}

export interface RegisterOptions {
  /** Changes published workflow versions as well. */
  readonly force: boolean;
  /** Only looks. */
  readonly dryRun: boolean;
}

export interface Registration {
  /** `refused`: a published workflow version differs and nothing was written; `planned`: a dry run. */
  readonly outcome: 'done' | 'refused' | 'planned';
  readonly definitions: readonly PlannedDefinition[];
}

/** Compares every definition with the engine, in the order in which they have to be registered. */
export function planRegistration(definitions: Definitions, registered: RegisteredDefinitions): PlannedDefinition[] {
  const byName = <T extends RegisteredDefinition>(list: readonly T[], name: string) =>
    list.find((candidate) => candidate.name === name);
  return [
    ...definitions.taskDefs.map(({ file, definition }) => {
      const existing = byName(registered.taskDefs, definition.name);
      const apply = (api: MetadataApi) => api.putTaskDef(definition, existing !== undefined);
      return plan({ kind: 'task type', name: definition.name, file, apply }, definition, existing);
    }),
    ...definitions.workflows.map(({ file, definition }) => {
      const { name, version } = definition;
      const existing = registered.workflows.find((other) => other.name === name && other.version === version);
      const apply = (api: MetadataApi) => api.putWorkflow(definition, existing !== undefined);
      return plan({ kind: 'workflow', name, version, file, apply }, definition, existing);
    }),
    ...definitions.eventHandlers.map(({ file, definition }) => {
      const existing = byName(registered.eventHandlers, definition.name);
      const apply = (api: MetadataApi) => api.putEventHandler(definition, existing !== undefined);
      return plan({ kind: 'event handler', name: definition.name, file, apply }, definition, existing);
    }),
  ];
}

/**
 * Registers what is new or changed; doing it twice changes nothing. A published workflow version that differs from its
 * file refuses the whole, unless forced: executions that still start it would silently do something else.
 * @throws EngineError when the engine cannot be reached or refuses a definition; those before it are registered then
 */
export async function register(
  definitions: Definitions,
  api: MetadataApi,
  { force, dryRun }: RegisterOptions,
): Promise<Registration> {
  const planned = planRegistration(definitions, await api.readDefinitions());
  const republished = planned.some(({ kind, state }) => kind === 'workflow' && state === 'changed');
  if (republished && !force) return { outcome: 'refused', definitions: planned };
  if (dryRun) return { outcome: 'planned', definitions: planned };
  for (const { state, apply } of planned) {
    if (state !== 'unchanged') await apply(api);
  }
  return { outcome: 'done', definitions: planned };
}

/** True when the engine has every definition as the files say. */
export function isInStep(planned: readonly PlannedDefinition[]): boolean {
  return planned.every(({ state }) => state === 'unchanged');
}

function plan(
  subject: Omit<PlannedDefinition, 'state' | 'differences'>,
  definition: unknown,
  existing: unknown,
): PlannedDefinition {
  if (existing === undefined) return { ...subject, state: 'created', differences: [] };
  const differences = compareDefinition(subject.kind, definition, existing);
  return { ...subject, state: differences.length === 0 ? 'unchanged' : 'changed', differences };
}
