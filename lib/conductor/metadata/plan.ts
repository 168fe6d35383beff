// Plans the ordered changes that bring an engine's definitions to the state of the repository.

import { createHash } from 'node:crypto';
import type { Definitions } from '../definitions/load-definitions.ts';
import type { EventHandler, TaskDefinition, WorkflowDefinition } from '../definitions/schema.ts';
import type { RegisteredDefinition, RegisteredDefinitions } from './metadata-api.ts';
import { type DefinitionKind, isEqual, normaliseDefinition, orderLike } from './normalise.ts';

/** Identity of a definition: kind and name and, for workflows, also the version. */
export interface DefinitionId {
  readonly kind: DefinitionKind;
  readonly name: string;
  readonly version?: number;
}

/** One definition to write or to remove. */
export interface Change extends DefinitionId {
  readonly action: 'add' | 'change' | 'remove';
  /** File in the repository; absent for a removal. */
  readonly file?: string;
  /** The engine's definition, normalised; absent when the engine has none. */
  readonly before?: unknown;
  /** The repository's definition, normalised; absent when the repository has none. */
  readonly after?: unknown;
  /** The definition to send to the engine. */
  readonly definition?: TaskDefinition | WorkflowDefinition | EventHandler;
}

/** The ordered changes, and the definitions that are not changed. */
export interface Plan {
  /**
   * In order: removed handlers, task types, workflows, new or changed handlers, removed workflows, removed task types.
   */
  readonly changes: readonly Change[];
  /** Number of definitions that are equal in the repository and the engine. */
  readonly unchanged: number;
  /** Definitions that only the engine has and that are kept because `prune` is off. */
  readonly kept: readonly DefinitionId[];
}

/** Returns a digest of a plan: 12 hexadecimal digits, equal for the same changes between the same states. */
export function digestPlan({ changes }: Plan): string {
  const parts = changes.map(({ action, kind, name, version, before, after }) => [
    action,
    kind,
    name,
    version,
    before,
    after,
  ]);
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 12);
}

/** Returns true for a change to a registered workflow version, which requires force. */
export function changesRegisteredVersion({ action, kind }: Change): boolean {
  return action === 'change' && kind === 'workflow';
}

/** Returns true when both are the same change to the same definition between the same states. */
export function isSameChange(left: Change, right: Change): boolean {
  const parts = ({ action, before, after }: Change) => [action, before ?? null, after ?? null];
  return isSameDefinition(left, right) && isEqual(parts(left), parts(right));
}

/** Returns true when kind, name and version are the same. */
export function isSameDefinition(left: DefinitionId, right: DefinitionId): boolean {
  return left.kind === right.kind && left.name === right.name && left.version === right.version;
}

/** Options of {@link planChanges}. */
export interface PlanOptions {
  /** Removes definitions that only the engine has. */
  readonly prune: boolean;
  /** Selects the definitions to compare, by name. */
  readonly concerns: (name: string) => boolean;
}

/** Compares the repository with the engine. This is a pure function. */
export function planChanges(
  repository: Definitions,
  registered: RegisteredDefinitions,
  { prune, concerns }: PlanOptions,
): Plan {
  const ours = sourcesOf(repository).filter(({ name }) => concerns(name));
  const theirs = idsOf(registered).filter(({ name }) => concerns(name));
  const steps = ours.map((source) => toChange(source, theirs.find((other) => isSameDefinition(source, other))?.before));
  const changes = steps.filter((step) => step !== undefined);
  const foreign = theirs.filter((other) => !ours.some((source) => isSameDefinition(source, other)));
  const removals = prune ? foreign.map((id) => ({ ...id, action: 'remove' }) as const) : [];
  return {
    changes: inOrder([...changes, ...removals]),
    unchanged: ours.length - changes.length,
    kept: prune ? [] : foreign.map(({ before: _before, ...id }) => id),
  };
}

/**
 * Sorts changes by dependency: handlers start workflows, and workflows use task types. Dependencies are added first and
 * removed last.
 */
function inOrder(changes: readonly Change[]): Change[] {
  const ranks: Record<DefinitionKind, number> = { 'task type': 1, workflow: 2, 'event handler': 3 };
  // Removals of handlers come first (-3), removals of workflows and task types last (8 and 9).
  const rank = ({ action, kind }: Change) => {
    if (action !== 'remove') return ranks[kind];
    return kind === 'event handler' ? -3 : 10 - ranks[kind];
  };
  return changes.toSorted((left, right) => rank(left) - rank(right));
}

type Source = DefinitionId & Required<Pick<Change, 'file' | 'definition'>>;

function sourcesOf({ taskDefs, workflows, eventHandlers }: Definitions): Source[] {
  return [
    ...taskDefs.map(({ file, definition }) => ({ ...idOf('task type', definition), file, definition })),
    ...workflows.map(({ file, definition }) => ({ ...idOf('workflow', definition), file, definition })),
    ...eventHandlers.map(({ file, definition }) => ({ ...idOf('event handler', definition), file, definition })),
  ];
}

function idsOf(registered: RegisteredDefinitions): (DefinitionId & { before: unknown })[] {
  const list = (kind: DefinitionKind, definitions: readonly RegisteredDefinition[]) =>
    definitions.map((definition) => ({ ...idOf(kind, definition), before: normaliseDefinition(kind, definition) }));
  return [
    ...list('task type', registered.taskDefs),
    ...list('workflow', registered.workflows),
    ...list('event handler', registered.eventHandlers),
  ];
}

function idOf(kind: DefinitionKind, { name, version }: { name: string; version?: unknown }): DefinitionId {
  return kind === 'workflow' ? { kind, name, version: Number(version) } : { kind, name };
}

function toChange(source: Source, registered: unknown): Change | undefined {
  const after = normaliseDefinition(source.kind, source.definition);
  if (registered === undefined) return { ...source, action: 'add', after };
  if (isEqual(registered, after)) return undefined;
  return { ...source, action: 'change', before: orderLike(registered, after), after };
}
