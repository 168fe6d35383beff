// The engine's definitions as files: where each belongs, whether it says the same already, and how it gets there.

import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isSwitchedOff } from '#lib/conductor/definitions/activation.ts';
import { parseJsonText } from '#lib/conductor/definitions/json-text.ts';
import { fileOf } from '#lib/conductor/definitions/load-definitions.ts';
import type { RegisteredDefinition, RegisteredDefinitions } from '#lib/conductor/metadata/metadata-api.ts';
import {
  type DefinitionKind,
  isEqual,
  isObject,
  normaliseDefinition,
  orderLike,
} from '#lib/conductor/metadata/normalise.ts';
import { unifiedDiff } from '#lib/conductor/metadata/unified-diff.ts';
import type { Config } from '#lib/config/schema.ts';

/** One definition of the engine and its file. */
export interface DumpedFile {
  /** Path below the directory, with `/`. */
  readonly file: string;
  /** `same`: says what the engine has, however it is written; it is left as it is. */
  readonly state: 'new' | 'differs' | 'same';
  readonly text: string;
  /** From what the file says to what the engine has; empty when they are the same. */
  readonly diff: readonly string[];
}

export interface DumpOptions {
  readonly dir: string;
  /** Which definitions are written. */
  readonly concerns: (name: string) => boolean;
  /** Decides which handlers are inactive in the engine although their files say otherwise. */
  readonly config: Pick<Config, 'mdm.updateQueue'>;
}

/** Names become file names: what is not a plain word could lead anywhere. One line each. */
export function findForeignNames(registered: RegisteredDefinitions, concerns: DumpOptions['concerns']): string[] {
  return listed(registered)
    .filter(({ definition: { name } }) => concerns(name) && !/^[A-Za-z0-9_-]+$/.test(name))
    .map(
      ({ kind, definition: { name } }) =>
        `the ${kind} ${JSON.stringify(name)} cannot be a file: names have letters, digits, _ and - only. Leave it out with --only`,
    );
}

/** What would be written; nothing is. */
export function planDump(registered: RegisteredDefinitions, options: DumpOptions): DumpedFile[] {
  return listed(registered)
    .filter(({ definition }) => options.concerns(definition.name))
    .map(({ kind, definition }) => toFile(kind, definition, options));
}

/** Each file is there whole or not at all, whenever this is interrupted. */
export function writeDump(files: readonly DumpedFile[], dir: string): void {
  for (const directory of ['workflows/tasks', 'event-handlers']) mkdirSync(join(dir, directory), { recursive: true });
  for (const { file, state, text } of files) {
    if (state === 'same') continue;
    const path = join(dir, file);
    const unfinished = join(dirname(path), `.${randomUUID()}.unfinished`);
    writeFileSync(unfinished, text);
    renameSync(unfinished, path);
  }
}

function listed({ taskDefs, workflows, eventHandlers }: RegisteredDefinitions) {
  const of = (kind: DefinitionKind, list: readonly RegisteredDefinition[]) =>
    list.map((definition) => ({ kind, definition }));
  return [...of('task type', taskDefs), ...of('workflow', workflows), ...of('event handler', eventHandlers)];
}

function toFile(kind: DefinitionKind, definition: RegisteredDefinition, { dir, config }: DumpOptions): DumpedFile {
  const { name } = definition;
  const version = definition['version'] as number | undefined;
  const file = fileOf(kind, { name, version });
  const path = join(dir, file);
  const present = existsSync(path) ? readPresent(kind, path) : undefined;
  const after = orderLike(normaliseDefinition(kind, withoutSwitch(definition, present, config)), present);
  const state = present === undefined ? 'new' : isEqual(present, after) ? 'same' : 'differs';
  const text = `${JSON.stringify(after, null, 2)}\n`;
  const engine = `engine: ${kind} ${name}${kind === 'workflow' ? ` v${version}` : ''}`;
  const diff =
    state === 'same' ? [] : unifiedDiff({ title: file, definition: present }, { title: engine, definition: after });
  return { file, state, text, diff };
}

/** The engine's definition as `asConfigured` got it: a handler that only the configuration keeps inactive is as active as in its file. */
function withoutSwitch(definition: RegisteredDefinition, present: unknown, config: DumpOptions['config']): object {
  const isFile = isObject(present) && definition['active'] !== true && isSwitchedOff(definition['event'], config);
  return isFile ? { ...definition, active: present['active'] } : definition;
}

/** What the file says, normalised; its text when it is no JSON. */
function readPresent(kind: DefinitionKind, path: string): unknown {
  const text = readFileSync(path, 'utf8');
  const parsed = parseJsonText(text);
  return 'value' in parsed ? normaliseDefinition(kind, parsed.value) : text;
}
