// The command `dump`: writes the engine's definitions into files, in the layout of the repository.

import { forColleges } from '#lib/conductor/definitions/for-colleges.ts';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { readDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import { addScopeOptions, createNameFilter, type ScopeOptions } from '../engine/definition-scope.ts';
import { type DumpedFile, findUnsafeNames, planDump, writeDump } from '../engine/dump-files.ts';
import { openEngine } from '../engine/engine-access.ts';
import { type Outcome, CommandError } from '../outcome.ts';
import { paintDiffLine } from '../output/plan-lines.ts';
import { folderOf } from '../gateway/gateway-folder.ts';
import { alignColumns, countOf } from '../output/table.ts';
import type { CommandDefinition, CommandContext } from '../command-definition.ts';

/** Options of `dump`: engine, scope, and whether to overwrite files that differ. */
export interface DumpOptions extends ScopeOptions {
  readonly force?: boolean;
}

/** The command `dump`: writes the engine's definitions into files. */
export const dump: CommandDefinition<DumpOptions> = {
  name: 'dump',
  description: 'Write the definitions of the engine to files that `plan` and `apply` can read.',
  exitCodes: {
    0: 'the files match the engine',
    1: 'error: the engine is unreachable, or a file cannot be written',
    2: 'nothing was written: files differ and --force was not given',
  },
  examples: [
    { command: 'dump --dir /tmp/definitions', does: 'write all definitions of the engine into another directory' },
    { command: "dump --only 'mdm*' --force", does: 'update the files with changes made by hand in the engine' },
  ],
  addOptions: (command) => addScopeOptions(command).option('--force', 'overwrite files that differ (default: refuse)'),
  run: runDump,
};

/**
 * Writes the engine's definitions into files. Without `--force`, writes nothing if a file would be overwritten.
 * @throws ConfigError, EngineError, or CommandError when a name cannot be a file name or there are no definitions to
 *   write
 */
export async function runDump(options: DumpOptions, { host }: Pick<CommandContext, 'host'>): Promise<Outcome> {
  // The folder need not exist. For a new folder, the configuration of the default folder is used.
  const isNew = options.dir !== undefined && !existsSync(options.dir);
  const { dir: _, ...elsewhere } = options;
  const engine = await openEngine(isNew ? elsewhere : options, host);
  const dir = isNew ? resolve(options.dir) : folderOf(options);
  try {
    const registered = await engine.api.readDefinitions();
    const concerns = createNameFilter(options);
    const unsafeNames = findUnsafeNames(registered, concerns);
    if (unsafeNames.length > 0) throw new CommandError(unsafeNames);
    const { config } = engine;
    const { eventHandlers } = forColleges(readDefinitions(dir), config);
    const files = planDump(registered, { dir, concerns, eventHandlers });
    if (files.length === 0) throw new CommandError([`the engine has no definitions${nameNote(options)}`]);
    const differ = files.filter(({ state }) => state === 'differs');
    if (differ.length > 0 && options.force !== true) return refused(differ, engine.address);
    writeDump(files, dir);
    return describe(files, dir, engine.address);
  } finally {
    await engine.close();
  }
}

function nameNote({ only }: DumpOptions): string {
  return only === undefined ? '' : ` with a name like ${only.join(' or ')}`;
}

function refused(differ: readonly DumpedFile[], address: string): Outcome {
  const reason = `nothing was written: ${countOf(differ.length, 'file')} would be overwritten. Use --force to overwrite, or another --dir`;
  return {
    exitCode: 2,
    lines: [...differ.flatMap(({ diff }) => [...diff.map(paintDiffLine), '']), `${address}: ${reason}`],
    json: { ok: false, engine: address, problems: [reason], files: differ.map(toJson) },
  };
}

function describe(files: readonly DumpedFile[], dir: string, address: string): Outcome {
  const words = { new: 'new', differs: 'changed', same: 'same' } as const;
  const count = (state: DumpedFile['state']) => files.filter((file) => file.state === state).length;
  const counts = `${count('new')} new, ${count('differs')} changed, ${count('same')} unchanged`;
  const written = new Set(files.map(({ file }) => file));
  const notes = readDefinitions(dir).problems.filter((problem) => written.has(problem.split(':')[0] ?? ''));
  return {
    exitCode: 0,
    lines: [
      ...alignColumns(files.map(({ file, state }) => [words[state], file])),
      ...(notes.length === 0 ? [] : ['', 'The engine accepts these, but `check` and `plan` do not:', ...notes]),
      '',
      `${address}: ${counts}, in ${dir}`,
    ],
    json: { ok: true, engine: address, directory: dir, files: files.map(toJson), notes },
  };
}

function toJson({ file, state, diff }: DumpedFile): Record<string, unknown> {
  return { file, state, ...(state === 'differs' ? { diff: diff.join('\n') } : {}) };
}
