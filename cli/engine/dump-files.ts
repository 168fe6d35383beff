// Maps the engine's definitions to files: path, comparison with the current file, and atomic writing.

import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseJsonText } from '#lib/conductor/definitions/json-text.ts';
import { type Definitions, fileOf } from '#lib/conductor/definitions/load-definitions.ts';
import type { RegisteredDefinition, RegisteredDefinitions } from '#lib/conductor/metadata/metadata-api.ts';
import { type DefinitionKind, isEqual, normaliseDefinition, orderLike } from '#lib/conductor/metadata/normalise.ts';
import { unifiedDiff } from '#lib/conductor/metadata/unified-diff.ts';

/** The file for one of the engine's definitions. */
export interface DumpedFile {
  /** Path relative to the directory, with `/`. */
  readonly file: string;
  /** `same`: the file is equivalent to the engine's definition, whatever its formatting, and is not written. */
  readonly state: 'new' | 'differs' | 'same';
  /** Content to write. */
  readonly text: string;
  /** Unified diff from the file to the engine's definition; empty when they are equivalent. */
  readonly diff: readonly string[];
}

/** The definitions to dump and the directory to dump them into. */
export interface DumpOptions {
  readonly dir: string;
  /** Selects definitions by name. */
  readonly concerns: (name: string) => boolean;
  /** The event handlers of the directory; each template is replaced with one handler for each college. */
  readonly eventHandlers: Definitions['eventHandlers'];
}

/** Returns one line for each name that is not safe as a file name, such as one with a path separator. */
export function findUnsafeNames(registered: RegisteredDefinitions, concerns: DumpOptions['concerns']): string[] {
  return listed(registered)
    .filter(({ definition: { name } }) => concerns(name) && !/^[A-Za-z0-9_-]+$/.test(name))
    .map(
      ({ kind, definition: { name } }) =>
        `the name of the ${kind} ${JSON.stringify(name)} cannot be used as a file name: only letters, digits, _ and - are allowed. Use --only to leave it out`,
    );
}

/** Returns the files that a dump would write, without writing them. */
export function planDump(registered: RegisteredDefinitions, options: DumpOptions): DumpedFile[] {
  return listed(registered)
    .filter(({ definition }) => options.concerns(definition.name))
    .map(({ kind, definition }) => toFile(kind, definition, options));
}

/** Writes the files. Each file is replaced atomically, so an interruption leaves no partial file. */
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

function toFile(kind: DefinitionKind, definition: RegisteredDefinition, options: DumpOptions): DumpedFile {
  const { dir, eventHandlers } = options;
  const { name } = definition;
  const version = definition['version'] as number | undefined;
  const file = fileOf(kind, { name, version });
  const template = eventHandlers.find((other) => kind === 'event handler' && other.definition.name === name);
  if (template !== undefined && template.file !== file && isSame(kind, template.definition, definition))
    return { file: template.file, state: 'same', text: template.text, diff: [] };
  const path = join(dir, file);
  const current = existsSync(path) ? readCurrent(kind, path) : undefined;
  const after = orderLike(normaliseDefinition(kind, definition), current);
  const state = current === undefined ? 'new' : isEqual(current, after) ? 'same' : 'differs';
  const text = `${JSON.stringify(after, null, 2)}\n`;
  const engine = `engine: ${kind} ${name}${kind === 'workflow' ? ` v${version}` : ''}`;
  const diff =
    state === 'same' ? [] : unifiedDiff({ title: file, definition: current }, { title: engine, definition: after });
  return { file, state, text, diff };
}

function isSame(kind: DefinitionKind, left: object, right: object): boolean {
  return isEqual(normaliseDefinition(kind, left), normaliseDefinition(kind, right));
}

/** Returns the normalised definition in a file, or the file's text when it is not JSON. */
function readCurrent(kind: DefinitionKind, path: string): unknown {
  const text = readFileSync(path, 'utf8');
  const parsed = parseJsonText(text);
  return 'value' in parsed ? normaliseDefinition(kind, parsed.value) : text;
}
