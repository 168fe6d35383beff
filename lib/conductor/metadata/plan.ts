// What would make an engine's definitions those of the repository, in the order in which it has to be done.

import { createHash } from 'node:crypto';
import type { Definitions } from '../definitions/load-definitions.ts';
import type { EventHandler, TaskDefinition, WorkflowDefinition } from '../definitions/schema.ts';
import type { RegisteredDefinition, RegisteredDefinitions } from './metadata-api.ts';
import { type DefinitionKind, isEqual, normaliseDefinition, orderLike } from './normalise.ts';

/** What a definition is called: task types and handlers by name, workflows by name and version. */
export interface DefinitionId {
  readonly kind: DefinitionKind;
  readonly name: string;
  readonly version?: number;
}

/** One definition that has to be sent or removed. */
export interface Change extends DefinitionId {
  readonly action: 'add' | 'change' | 'remove';
  /** Where it stands in the repository; a removed one stands nowhere. */
  readonly file?: string;
  /** As the engine has it, normalised; absent when it has not. */
  readonly before?: unknown;
  /** As the repository has it, normalised; absent when it has not. */
  readonly after?: unknown;
  /** As the engine is sent it. */
  readonly definition?: TaskDefinition | WorkflowDefinition | EventHandler;
}

export interface Plan {
  /** In order: handlers that go, task types, workflows, handlers that come; then workflows and task types that go. */
  readonly changes: readonly Change[];
  /** Definitions that are the same on both sides. */
  readonly unchanged: number;
  /** What only the engine has and keeps, because removing was not asked for. */
  readonly kept: readonly DefinitionId[];
}

/** A text that tells plans apart: the same changes, from the same state to the same state. */
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

/** True for what must not happen without force: a published workflow version that would become another one. */
export function isRepublished({ action, kind }: Change): boolean {
  return action === 'change' && kind === 'workflow';
}

/** The same step: nothing about it has changed since it was planned. */
export function isSameChange(left: Change, right: Change): boolean {
  const parts = ({ action, before, after }: Change) => [action, before ?? null, after ?? null];
  return isSame(left, right) && isEqual(parts(left), parts(right));
}

export function isSame(left: DefinitionId, right: DefinitionId): boolean {
  return left.kind === right.kind && left.name === right.name && left.version === right.version;
}

export interface PlanOptions {
  /** Removes what the engine has and the repository has not. */
  readonly prune: boolean;
  /** Which definitions are looked at, on both sides. */
  readonly concerns: (name: string) => boolean;
}

/** Compares repository and engine; pure. */
export function planChanges(
  repository: Definitions,
  registered: RegisteredDefinitions,
  { prune, concerns }: PlanOptions,
): Plan {
  const ours = sourcesOf(repository).filter(({ name }) => concerns(name));
  const theirs = idsOf(registered).filter(({ name }) => concerns(name));
  const steps = ours.map((source) => toChange(source, theirs.find((other) => isSame(source, other))?.before));
  const changes = steps.filter((step) => step !== undefined);
  const foreign = theirs.filter((other) => !ours.some((source) => isSame(source, other)));
  const removals = prune ? foreign.map((id) => ({ ...id, action: 'remove' }) as const) : [];
  return {
    changes: inOrder([...changes, ...removals]),
    unchanged: ours.length - changes.length,
    kept: prune ? [] : foreign.map(({ before: _before, ...id }) => id),
  };
}

/** Handlers start workflows, workflows have tasks: nothing may be there before what it needs, nor outlive it. */
function inOrder(changes: readonly Change[]): Change[] {
  const ranks: Record<DefinitionKind, number> = { 'task type': 1, workflow: 2, 'event handler': 3 };
  // Removals of handlers come first (-3), of workflows and task types last (8 and 9).
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
