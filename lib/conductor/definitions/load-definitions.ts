// Reads `workflows/`, `workflows/tasks/` and `event-handlers/`: one definition a file, each checked against its schema.

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { type Path, formatPath, locate, parseJsonText, pathOfPointer } from './json-text.ts';
import {
  type EventHandler,
  type TaskDefinition,
  type WorkflowDefinition,
  eventHandlerSchema,
  taskDefSchema,
  workflowSchema,
} from './schema.ts';

/** A definition and the file it stands in. */
export interface DefinitionFile<T> {
  /** Path below the root, with `/`: `workflows/tasks/movies_intake.json`. */
  readonly file: string;
  readonly text: string;
  readonly definition: T;
}

/** Every definition of the product, in the order of their file names. */
export interface Definitions {
  readonly workflows: readonly DefinitionFile<WorkflowDefinition>[];
  readonly taskDefs: readonly DefinitionFile<TaskDefinition>[];
  readonly eventHandlers: readonly DefinitionFile<EventHandler>[];
}

/** What could be read, and what is wrong with the rest. */
export interface ReadDefinitions extends Definitions {
  /** One line each: `file:line:column: path: what is wrong`. */
  readonly problems: readonly string[];
  /** Files that hold no valid definition. */
  readonly unreadable: readonly string[];
}

/** Everything that is wrong with the files, one line each. */
export class DefinitionError extends Error {
  override readonly name = 'DefinitionError';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`the definitions are not valid:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

const ajv = new Ajv({ allErrors: true, strict: true });
const kinds = {
  workflows: {
    directory: 'workflows',
    validate: ajv.compile<WorkflowDefinition>(workflowSchema),
    fileName: ({ name, version }: WorkflowDefinition) => `${name}.v${version}.json`,
  },
  taskDefs: {
    directory: 'workflows/tasks',
    validate: ajv.compile<TaskDefinition>(taskDefSchema),
    fileName: ({ name }: TaskDefinition) => `${name}.json`,
  },
  eventHandlers: {
    directory: 'event-handlers',
    validate: ajv.compile<EventHandler>(eventHandlerSchema),
    fileName: ({ name }: EventHandler) => `${name}.json`,
  },
} as const;

const kindNames = { workflow: 'workflows', 'task type': 'taskDefs', 'event handler': 'eventHandlers' } as const;

/** The file in which a definition stands, below the root. */
export function fileOf(
  kind: keyof typeof kindNames,
  { name, version = 0 }: { name: string; version?: number | undefined },
): string {
  const { directory, fileName } = kinds[kindNames[kind]];
  return `${directory}/${fileName({ name, version } as never)}`;
}

/** What came of files, by file: with the same text, the same comes of it. To be kept from one load to the next. */
export type KnownFiles = Map<string, { readonly text: string; readonly read: ReadFile }>;

interface ReadFile {
  readonly definition?: unknown;
  readonly problems: readonly string[];
}

/**
 * Loads every definition.
 * @param rootDir directory that holds `workflows/` and `event-handlers/`
 * @param known of earlier loads: a file that has not changed is not parsed again
 * @throws DefinitionError that lists everything wrong at once. What stands between files: check-definitions.ts.
 */
export function loadDefinitions(rootDir: string, known?: KnownFiles): Definitions {
  const { problems, workflows, taskDefs, eventHandlers } = readDefinitions(rootDir, known);
  if (problems.length > 0) throw new DefinitionError(problems);
  return { workflows, taskDefs, eventHandlers };
}

/** Reads every definition and lists what is wrong; never throws for what stands in a file. */
export function readDefinitions(rootDir: string, known: KnownFiles = new Map()): ReadDefinitions {
  const problems: string[] = [];
  const unreadable: string[] = [];
  const read = <T>(kind: Kind<T>) => readKind(kind, { rootDir, problems, unreadable, known });
  return {
    workflows: read(kinds.workflows),
    taskDefs: read(kinds.taskDefs),
    eventHandlers: read(kinds.eventHandlers),
    problems,
    unreadable,
  };
}

/** One line about a place in a definition file. */
export function problemAt(source: { file: string; text: string }, path: Path, message: string): string {
  const { line, column } = locate(source.text, path);
  return `${source.file}:${line}:${column}: ${path.length === 0 ? '' : `${formatPath(path)}: `}${message}`;
}

interface Kind<T> {
  readonly directory: string;
  readonly validate: ValidateFunction<T>;
  readonly fileName: (definition: T) => string;
}

interface Reading {
  readonly rootDir: string;
  readonly problems: string[];
  readonly unreadable: string[];
  readonly known: KnownFiles;
}

function readKind<T>(kind: Kind<T>, reading: Reading): DefinitionFile<T>[] {
  const directory = join(reading.rootDir, kind.directory);
  if (!existsSync(directory)) {
    reading.problems.push(`${kind.directory}: there is no such directory`);
    return [];
  }
  const names = readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.') && !entry.name.endsWith('.md'))
    .map((entry) => entry.name)
    .sort();
  return names.flatMap((name) => {
    const file = `${kind.directory}/${name}`;
    const source = { file, text: readFileSync(join(directory, name), 'utf8') };
    const { definition, problems } = readKnown(kind, source, reading.known);
    reading.problems.push(...problems);
    if (definition === undefined) reading.unreadable.push(file);
    return definition === undefined ? [] : [{ ...source, definition }];
  });
}

function readKnown<T>(
  kind: Kind<T>,
  source: Source,
  known: KnownFiles,
): { definition?: T; problems: readonly string[] } {
  const before = known.get(source.file);
  const read = before?.text === source.text ? before.read : readOne(kind, source);
  known.set(source.file, { text: source.text, read });
  return read as { definition?: T; problems: readonly string[] };
}

interface Source {
  readonly file: string;
  readonly text: string;
}

function readOne<T>(
  { validate, fileName, directory }: Kind<T>,
  source: Source,
): { definition?: T; problems: string[] } {
  const parsed = parseJsonText(source.text);
  if ('message' in parsed) {
    return { problems: [`${source.file}:${parsed.at.line}:${parsed.at.column}: ${parsed.message}`] };
  }
  const { value } = parsed;
  if (!validate(value)) {
    return { problems: [...new Set((validate.errors ?? []).map((error) => describe(source, error)))] };
  }
  const expected = `${directory}/${fileName(value)}`;
  const problems = expected === source.file ? [] : [problemAt(source, ['name'], `the file must be named ${expected}`)];
  return { definition: value, problems };
}

function describe(source: { file: string; text: string }, error: ErrorObject): string {
  const path = pathOfPointer(error.instancePath);
  const unknown = error.params['additionalProperty'] as string | undefined;
  if (unknown !== undefined) return problemAt(source, [...path, unknown], 'unknown key');
  const missing = error.params['missingProperty'] as string | undefined;
  if (missing !== undefined) return problemAt(source, path, `"${missing}" is missing`);
  return problemAt(source, path, expectation(error));
}

function expectation({ keyword, params, message }: ErrorObject): string {
  if (keyword === 'const') return `must be ${JSON.stringify(params['allowedValue'])}`;
  if (keyword === 'enum') return `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`;
  return message ?? 'is not valid';
}
