// Names every place where a definition differs from what the engine has, past the fields the engine adds by itself.

import { type Path, formatPath } from '#lib/conductor/definitions/json-text.ts';
import { type DefinitionKind, isEqual, normaliseDefinition } from '#lib/conductor/metadata/normalise.ts';
import { isJsonObject } from '#lib/json/json-object.ts';

/** One place where file and engine differ; a side that has nothing there is undefined. */
export interface Difference {
  /** `tasks[0].inputParameters.inbound` */
  readonly path: string;
  readonly file: unknown;
  readonly engine: unknown;
}

/** Every difference; none when the engine's definition means the same as the file's. */
export function compareDefinition(kind: DefinitionKind, file: unknown, engine: unknown): Difference[] {
  return differences(normaliseDefinition(kind, file), normaliseDefinition(kind, engine), []);
}

function differences(file: unknown, engine: unknown, path: Path): Difference[] {
  if (Array.isArray(file) && Array.isArray(engine)) {
    const longest = Math.max(file.length, engine.length);
    return Array.from({ length: longest }, (_, index) => index).flatMap((index) =>
      differences(file[index], engine[index], [...path, index]),
    );
  }
  if (isJsonObject(file) && isJsonObject(engine)) {
    const keys = [...new Set([...Object.keys(file), ...Object.keys(engine)])];
    return keys.flatMap((key) => differences(file[key], engine[key], [...path, key]));
  }
  return isEqual(file, engine) ? [] : [{ path: formatPath(path), file, engine }];
}
