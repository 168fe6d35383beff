// Loads the OpenAPI fragment of a back end (YAML, with the back end's paths) and maps it to public paths.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import type { Endpoint, ListedOperation } from './description.ts';
import { yamlOptions } from '#lib/json/yaml-options.ts';
import type { Components, Method, Operation, Parameter } from './openapi.ts';
import { templatePattern } from './templates.ts';

/** A fragment. `paths` maps paths below the public prefix to path items. */
export interface BackEndDescription {
  readonly file: string;
  readonly paths: Readonly<Record<string, PathItem | null>>;
  readonly components: Components;
  /** The parsed file. */
  readonly content: unknown;
}

/** A parsed file. */
interface Content {
  readonly paths?: BackEndDescription['paths'] | null;
  readonly components?: Components | null;
}

/** The operations by method in lower case, and the parameters that they share. Other fields are ignored. */
interface PathItem {
  readonly parameters?: readonly Parameter[] | null;
  readonly [field: string]: unknown;
}

/** Keys of a path item that are operations, in upper case. HEAD is ignored, because GET implies it. */
const methods: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];

/** Cache of parsed files by path, each with the text that was parsed, because parsing YAML is slow. */
const parsed = new Map<string, { text: string; content: Content | null }>();

/**
 * Reads a fragment.
 * @param file path relative to `rootDir`
 * @throws Error when the file cannot be read or has no paths
 */
export function readBackEndDescription(file: string, rootDir: string): BackEndDescription {
  let content: Content | null;
  try {
    const path = resolve(rootDir, file);
    content = parseOnce(path, readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new Error(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
  const { paths, components } = content ?? {};
  // YAML parses a key without content as null.
  if (paths === undefined || paths === null) throw new Error(`${file} has no paths`);
  return { file, paths, components: components ?? {}, content };
}

function parseOnce(path: string, text: string): Content | null {
  const known = parsed.get(path);
  if (known?.text === text) return known.content;
  const content = parse(text, yamlOptions) as Content | null;
  parsed.set(path, { text, content });
  return content;
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
