// Definitions and their differences, as text and as JSON.

import type { Difference } from '../conductor/metadata/compare.ts';
import type { PlannedDefinition } from '../conductor/metadata/register.ts';

/** `college-adaptorWF v2`, `mdm_notify`. */
export function titleOf({ name, version }: Pick<PlannedDefinition, 'name' | 'version'>): string {
  return version === undefined ? name : `${name} v${version}`;
}

/** One indented block a difference: its path, what the engine has (`-`) and what the file says (`+`). */
export function describeDifferences(differences: readonly Difference[]): string[] {
  return differences.flatMap(({ path, engine, file }) => [
    `    ${path}`,
    ...(engine === undefined ? [] : [`      - ${JSON.stringify(engine)}`]),
    ...(file === undefined ? [] : [`      + ${JSON.stringify(file)}`]),
  ]);
}

/** Without what only this process can use. */
export function toJson({ apply: _apply, ...definition }: PlannedDefinition): Record<string, unknown> {
  return definition;
}
