// The command `register`: an alias of `apply --yes` for start scripts.

import { runApply } from './apply.ts';
import { addEngineOptions, type EngineAccessOptions } from '../engine/engine-access.ts';
import type { CommandDefinition } from '../command-definition.ts';

/** Options of `register`: engine, directory of the definitions, `--force` and `--dry-run`. */
export interface RegisterOptions extends EngineAccessOptions {
  readonly force?: boolean;
  readonly dryRun?: boolean;
}

/** The command `register`: an alias of `apply --yes`. */
export const registerCommand: CommandDefinition<RegisterOptions> = {
  name: 'register',
  description: 'The same as `apply --yes`, for start scripts. It can be run again at any time.',
  exitCodes: {
    0: 'the definitions of the engine match the files',
    1: 'error: a definition is not valid, the engine is unreachable, or it rejected a definition',
    2: 'nothing was written: a registered workflow version differs and --force was not given, or --dry-run found differences',
  },
  examples: [
    { command: 'register', does: 'update the engine from the files, in a start script' },
    { command: 'register --dry-run', does: 'show what would be done' },
  ],
  addOptions: (command) =>
    addEngineOptions(command)
      .option('--force', 'change registered workflow versions as well (default: refuse)')
      .option('--dry-run', 'only show what would be done; change nothing'),
  run: (options, context) => runApply({ ...options, diff: true }, { ...context, confirm: () => Promise.resolve() }),
};
