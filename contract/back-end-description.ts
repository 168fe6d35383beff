// What a back end answers: an OpenAPI fragment in YAML, with the paths as the back end sees them, put below a public path.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import type { Endpoint, ListedOperation } from './description.ts';
import type { Components, Method, Operation } from './openapi.ts';
import { patternOf } from './templates.ts';

/** A fragment: path below the public prefix → method in lower case → operation. */
export interface BackEndDescription {
  readonly file: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Components;
}

/** What was parsed last, by file, with the text it was parsed from: parsing YAML is slow. */
const parsed = new Map<string, { text: string; content: Partial<BackEndDescription> | null }>();

const rootDir = fileURLToPath(new URL('..', import.meta.url));

/**
 * @param file path below the root of the product
 * @throws Error when it cannot be read or has no paths
 */
export function readBackEndDescription(file: string): BackEndDescription {
  let content: Partial<BackEndDescription> | null;
  try {
    content = parseOnce(file, readFileSync(join(rootDir, file), 'utf8'));
  } catch (cause) {
    throw new Error(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
  const { paths, components = {} } = content ?? {};
  if (paths === undefined) throw new Error(`${file} has no paths`);
  return { file, paths, components };
}

function parseOnce(file: string, text: string): Partial<BackEndDescription> | null {
  const known = parsed.get(file);
  if (known?.text === text) return known.content;
  const content = parse(text, { merge: true }) as Partial<BackEndDescription> | null;
  parsed.set(file, { text, content });
  return content;
}

/**
 * Its operations at their public paths.
 * @param prefix what the back end does not see, as a template
 * @throws Error that names what the map does not route, so that nothing is documented that does not exist
 */
export function operationsBelow(
  { file, paths }: BackEndDescription,
  prefix: string,
  endpoint: Endpoint,
): ListedOperation[] {
  const routed = endpoint.templates.map(patternOf);
  return Object.entries(paths).flatMap(([below, item]) =>
    Object.entries(item).map(([name, operation]) => {
      const listed = { method: name.toUpperCase() as Method, path: `${prefix}${below}`, operation };
      if (!endpoint.methods.includes(listed.method) || !routed.some((pattern) => pattern.test(listed.path)))
        throw new Error(`${file}: gateway.config.yml does not route ${listed.method} ${listed.path}`);
      return listed;
    }),
  );
}
