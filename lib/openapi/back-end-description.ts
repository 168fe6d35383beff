// Loads the OpenAPI fragment of a back end (YAML, with the back end's paths) and maps it to public paths.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import type { Endpoint, ListedOperation } from './description.ts';
import { isJsonObject } from '#lib/json/json-object.ts';
import { yamlOptions } from '#lib/json/yaml-options.ts';
import { ReferenceInliner } from './inline-references.ts';
import type { Components, Method, Operation, Parameter } from './openapi.ts';
import type { JsonObject } from './references.ts';
import { templatePattern } from './templates.ts';

/** A fragment. `paths` maps paths below the public prefix to path items. Only references to schemas remain. */
export interface BackEndDescription {
  readonly file: string;
  readonly paths: Readonly<Record<string, PathItem | null>>;
  readonly components: Pick<Components, 'schemas'>;
  /** The parsed file. */
  readonly content: unknown;
}

/** The operations by method in lower case, and the parameters that they share. Other fields are ignored. */
interface PathItem {
  readonly parameters?: readonly Parameter[] | null;
  readonly [field: string]: unknown;
}

/** Keys of a path item that are operations, in upper case. HEAD is ignored, because GET implies it. */
const methods: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];

/** Cache of fragments by path, each with the text that was parsed, because parsing YAML is slow. */
const cached = new Map<string, { text: string; fragment: Fragment }>();

type Fragment = Omit<BackEndDescription, 'file'>;

/** A parsed file. */
type File = JsonObject & Partial<Pick<BackEndDescription, 'paths' | 'components'>>;

/**
 * Reads a fragment.
 * @param file path relative to `rootDir`
 * @throws Error when the file cannot be read, has no paths, or has a reference that leads back to itself
 */
export function readBackEndDescription(file: string, rootDir: string): BackEndDescription {
  const path = resolve(rootDir, file);
  const text = orUnreadable(file, () => readFileSync(path, 'utf8'));
  const known = cached.get(path);
  if (known?.text === text) return { file, ...known.fragment };
  const fragment = fragmentOf(
    orUnreadable(file, () => parse(text, yamlOptions) as unknown),
    file,
  );
  cached.set(path, { text, fragment });
  return { file, ...fragment };
}

function orUnreadable<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new Error(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

function fragmentOf(content: unknown, file: string): Fragment {
  const { paths, components } = isJsonObject(content) ? (content as File) : {};
  // YAML parses a key without content as null.
  if (paths === undefined || paths === null) throw new Error(`${file} has no paths`);
  const inliner = new ReferenceInliner(content as File);
  const schemas = components?.schemas;
  try {
    return {
      paths: inliner.inline(paths) as Fragment['paths'],
      components:
        schemas === undefined ? {} : { schemas: inliner.inline(schemas, true) as NonNullable<typeof schemas> },
      content,
    };
  } catch (cause) {
    throw new Error(`${file}: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Returns the operations at their public paths.
 * @param prefix part of the public path before the back end's path, as a template
 */
export function operationsBelow({ paths }: BackEndDescription, prefix: string): ListedOperation[] {
  return Object.entries(paths).flatMap(([below, item]) =>
    Object.entries(item ?? {})
      .filter(([name]) => methods.includes(name.toUpperCase()))
      .map(([name, operation]) => ({
        method: name.toUpperCase() as Method,
        path: `${prefix}${below}`,
        operation: addParameters(item?.parameters ?? [], (operation ?? {}) as Operation),
      })),
  );
}

/** Adds the path item's parameters, except those that the operation overrides (same name and location). */
function addParameters(shared: readonly Parameter[], operation: Operation): Operation {
  const own = operation.parameters ?? [];
  const inherited = shared.filter((each) => !own.some((other) => other.name === each.name && other.in === each.in));
  return inherited.length === 0 ? operation : { ...operation, parameters: [...inherited, ...own] };
}

/**
 * Returns one message per described operation that the endpoint does not route, so that only existing paths are
 * documented.
 */
export function notRoutedBelow(
  description: BackEndDescription,
  prefix: string,
  { methods, templates }: Pick<Endpoint, 'methods' | 'templates'>,
): string[] {
  const routed = templates.map(templatePattern);
  return operationsBelow(description, prefix)
    .filter(({ method, path }) => !methods.includes(method) || !routed.some((pattern) => pattern.test(path)))
    .map(({ method, path }) => `${description.file}: gateway.config.yml does not route ${method} ${path}`);
}
