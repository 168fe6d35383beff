// Generates the policy reference from the declarations of the plugins: a section for each policy.

import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Document, isScalar, visit } from 'yaml';
import { rootDir } from '../../cli/gateway/gateway-folder.ts';
import type { Plugin, PolicyDeclaration } from '../../gateway/plugin-api/plugin-api.ts';
import { defaultOf, type DescribedType, meaningOf, typeOf } from './described-type.ts';
import { code, fence, table } from './markdown.ts';

/** A parameter of a policy. A parameter inside a map has a dotted name; a parameter with a default is optional. */
export interface Parameter {
  readonly name: string;
  readonly schema: DescribedType;
  readonly isRequired: boolean;
}

/** Imports every plugin and returns the declarations of all policies, sorted by name. */
export async function readDeclarations(): Promise<PolicyDeclaration[]> {
  const plugins = globSync('plugins/*/index.ts', { cwd: rootDir });
  const imported = await Promise.all(
    plugins.map((file) => import(pathToFileURL(join(rootDir, file)).href) as Promise<Plugin>),
  );
  return imported.flatMap(({ policies }) => policies).toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** Returns all parameters of an object in the order of the schema; the parameters inside a map follow that map. */
export function parametersOf({ properties = {}, required = [] }: DescribedType, prefix = ''): Parameter[] {
  return Object.entries(properties).flatMap(([key, schema]) => [
    { name: `${prefix}${key}`, schema, isRequired: required.includes(key) && schema.default === undefined },
    ...[schema, ...(schema.anyOf ?? [])].flatMap((inner) => parametersOf(inner, `${prefix}${key}.`)),
  ]);
}

/** Returns the sections for docs/reference/policies.md. */
export async function formatPolicies(): Promise<string> {
  return (await readDeclarations()).map(formatPolicy).join('\n\n');
}

function formatPolicy({ name, schema, alwaysResponds, needsClient }: PolicyDeclaration): string {
  const { description = '', examples = [undefined], ...described } = schema as DescribedType;
  const parameters = parametersOf(described);
  const rows = parameters.map(({ name: parameter, schema: type, isRequired }) => [
    code(parameter),
    typeOf(type),
    isRequired ? 'required' : defaultOf(type),
    meaningOf(type),
  ]);
  const order = [
    needsClient === true
      ? ['This policy needs the client, so a step with it must come after `bearer`, unless both have a condition.']
      : [],
    alwaysResponds === true
      ? [
          'This policy always responds, so a step with it must be the last one of its pipeline, unless the step has a condition.',
        ]
      : [],
  ].flat();
  return [
    `## ${name}`,
    [description.replaceAll(/(?<=\.) (?=[A-Z`])/g, '\n'), ...order].join('\n'),
    rows.length === 0 ? 'This policy has no parameters.' : table(['parameter', 'type', 'default', 'meaning'], rows),
    fence('yaml', examples.map((action) => exampleOf(name, action)).join('')),
  ].join('\n\n');
}

/** Returns the step as a pipeline lists it in `policies`. */
function exampleOf(name: string, action: unknown): string {
  const document = new Document([{ [name]: action === undefined ? null : [{ action }] }]);
  visit(document, {
    Seq(_key, node) {
      node.flow = node.items.every(isScalar);
    },
  });
  return document.toString({ nullStr: '', flowCollectionPadding: false });
}
