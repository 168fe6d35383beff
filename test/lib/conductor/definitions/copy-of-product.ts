// A copy of the product's definitions and configuration in a temporary directory, which tests can change.

import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Path } from '#lib/conductor/definitions/json-text.ts';
import { forColleges } from '#lib/conductor/definitions/for-colleges.ts';
import { type Definitions, loadDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import type { Config } from '#lib/config/schema.ts';

export const productDir = fileURLToPath(new URL('../../../..', import.meta.url));

const copied = [
  'workflows',
  'event-handlers',
  'gateway.config.yml',
  'config/default.properties',
  'config/openapi',
] as const;

/** Linux's in-memory file system: on a disk, deleting a copy takes longer than checking it. */
const inMemory = '/dev/shm';

export function copyOfProduct() {
  const dir = mkdtempSync(join(existsSync(inMemory) ? inMemory : tmpdir(), 'service-router-definitions-'));
  for (const name of copied) cpSync(join(productDir, name), join(dir, name), { recursive: true });
  const read = (file: string) => readFileSync(join(dir, file), 'utf8');
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(dir, file)), { recursive: true });
    writeFileSync(join(dir, file), text);
  };
  // Plugins are not copied, because their imports would not resolve. The copy's plugins re-export the product's.
  for (const name of readdirSync(join(productDir, 'plugins'))) {
    const entry = `plugins/${name}/index.ts`;
    write(entry, `export * from ${JSON.stringify(join(productDir, entry))};\n`);
  }
  return {
    dir,
    /** Replaces the text of a file; creates the file if necessary. */
    write,
    /** Replaces every occurrence of a string. @throws Error when the file does not contain it */
    replace(file: string, from: string, to: string) {
      if (!read(file).includes(from)) throw new Error(`${file} does not contain ${from}`);
      write(file, read(file).replaceAll(from, to));
    },
    /** Sets the value at a path of a file; undefined deletes it. */
    set(file: string, path: Path, value: unknown) {
      write(file, JSON.stringify(withValue(JSON.parse(read(file)), path, value), null, 2));
    },
    rename: (from: string, to: string) => renameSync(join(dir, from), join(dir, to)),
    remove(file: string) {
      if (!existsSync(join(dir, file))) throw new Error(`there is no ${file}`);
      rmSync(join(dir, file));
    },
    /** Deletes the directory. */
    dispose: () => rmSync(dir, { recursive: true, force: true }),
  };
}

export type CopyOfProduct = ReturnType<typeof copyOfProduct>;

/** Returns the definitions below a directory as they are registered when these colleges have their own workers. */
export function definitionsFor(colleges: readonly string[] = ['002'], dir = productDir): Definitions {
  const domains = Object.fromEntries(colleges.map((mis) => [`adaptor.${mis}.domain`, mis]));
  return forColleges(loadDefinitions(dir), domains as unknown as Config);
}

/** Returns the names of all definitions below a directory, as they are registered. */
export function definitionNames(dir: string): string[] {
  const { workflows, taskDefs, eventHandlers } = definitionsFor(['002'], dir);
  return [...taskDefs, ...workflows, ...eventHandlers].map(({ definition }) => definition.name);
}

function withValue(parent: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value;
  if (Array.isArray(parent)) {
    const items: unknown[] = [...(parent as unknown[])];
    items[step as number] = withValue(items[step as number], rest, value);
    return items;
  }
  const members = { ...(parent as Record<string, unknown>) };
  return { ...members, [step]: withValue(members[step], rest, value) };
}
