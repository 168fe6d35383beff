// Loads definitions from `workflows/`, `workflows/tasks/` and `event-handlers/`. Each file, or symbolic link to a file,
// contains one definition, which is validated against a JSON schema.

import { ProblemsError } from '#lib/config/problems-error.ts';
import { expectationOf } from '#lib/json/schema-expectation.ts';
import { lstatSync, readFileSync, readdirSync, statSync } from 'node:fs';
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

/** A valid definition, with its path and the text from which it was read. */
export interface DefinitionFile<T> {
  /** Path relative to the root, with `/` as the separator: `workflows/tasks/movies_intake.json`. */
  readonly file: string;
  readonly text: string;
  readonly definition: T;
}

/** All definitions of the product, sorted by file name. */
export interface Definitions {
  readonly workflows: readonly DefinitionFile<WorkflowDefinition>[];
  readonly taskDefs: readonly DefinitionFile<TaskDefinition>[];
  readonly eventHandlers: readonly DefinitionFile<EventHandler>[];
}

/** The valid definitions, and the problems of invalid ones. */
export interface ReadDefinitions extends Definitions {
  /** One line per problem: `file:line:column: path: message`. */
  readonly problems: readonly string[];
  /** Files without a valid definition, and folders that exist but cannot be read. */
  readonly unreadable: readonly string[];
}

/** Thrown with all problems of the definition files, one line each. */
export class DefinitionError extends ProblemsError {
  override readonly name = 'DefinitionError';
  constructor(problems: readonly string[]) {
    super(problems, 'the definitions are not valid');
  }
}

// lib/config/load.ts explains these options.
const ajv = new Ajv({ allErrors: true, strict: true, validateSchema: false, code: { optimize: false } });
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

/** Returns the path of a definition's file, relative to the root. */
export function fileOf(
  kind: keyof typeof kindNames,
  { name, version = 0 }: { name: string; version?: number | undefined },
): string {
  const { directory, fileName } = kinds[kindNames[kind]];
  return `${directory}/${fileName({ name, version } as never)}`;
}

/** Cache of parsed files by path, for repeated loads. An entry is valid as long as the text of the file is the same. */
export type KnownFiles = Map<string, { readonly text: string; readonly read: ReadFile }>;

interface ReadFile {
  readonly definition?: unknown;
  readonly problems: readonly string[];
}

/**
 * Loads all definitions.
 * @param rootDir directory that contains `workflows/` and `event-handlers/`
 * @param known cache from earlier loads: unchanged files are not parsed again
 * @throws DefinitionError that lists all problems. Consistency between files is checked by check-definitions.ts.
 */
export function loadDefinitions(rootDir: string, known?: KnownFiles): Definitions {
  const { problems, workflows, taskDefs, eventHandlers } = readDefinitions(rootDir, known);
  if (problems.length > 0) throw new DefinitionError(problems);
  return { workflows, taskDefs, eventHandlers };
}

/** Reads all definitions and lists the problems. Never throws because of the content of a file. */
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

/** Returns a problem line for a value in a definition file. */
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
  const names = attempt(() => readdirSync(directory).filter(isDefinitionName).sort());
  if (names instanceof Error) {
    const isMissing = names.code === 'ENOENT';
    reading.problems.push(`${kind.directory}: ${isMissing ? 'there is no such directory' : cannotBeRead(names)}`);
    if (!isMissing) reading.unreadable.push(kind.directory);
    return [];
  }
  return names.flatMap((name) => readFile(kind, name, reading));
}

/** Returns false for Markdown files and for hidden files, such as those that Kubernetes adds to a mounted ConfigMap. */
function isDefinitionName(name: string): boolean {
  return !name.startsWith('.') && !name.endsWith('.md');
}

function readFile<T>(kind: Kind<T>, name: string, reading: Reading): DefinitionFile<T>[] {
  const file = `${kind.directory}/${name}`;
  const text = attempt(() => readText(join(reading.rootDir, file)));
  if (text === undefined) return [];
  if (text instanceof Error) {
    reading.problems.push(`${file}: ${cannotBeRead(text)}`);
    reading.unreadable.push(file);
    return [];
  }
  const { definition, problems } = readKnown(kind, { file, text }, reading.known);
  reading.problems.push(...problems);
  if (definition === undefined) reading.unreadable.push(file);
  return definition === undefined ? [] : [{ file, text, definition }];
}

/**
 * Returns the text of a file, or of the file to which a symbolic link leads; undefined for a folder such as
 * `workflows/tasks`, and for a file that was removed after its folder was listed.
 * @throws Error when there is no readable file where there should be one
 */
function readText(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isFile() === true) return readFileSync(path, 'utf8');
  if (stats === undefined) {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
    throw new Error('it is a symbolic link to a file that does not exist');
  }
  // Docker creates a folder when the source of a bind mount is missing.
  if (path.endsWith('.json')) throw new Error('it is not a file');
  return undefined;
}

/** Returns the result of `read`, or the error from the file system. */
function attempt<T>(read: () => T): T | NodeJS.ErrnoException {
  try {
    return read();
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
}

function cannotBeRead({ message }: Error): string {
  return `cannot be read: ${message}`;
}

function readKnown<T>(
  kind: Kind<T>,
  source: Source,
  known: KnownFiles,
): { definition?: T; problems: readonly string[] } {
  const cached = known.get(source.file);
  const read = cached?.text === source.text ? cached.read : readOne(kind, source);
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
  return problemAt(source, path, expectationOf(error));
}
