// The command `register`: an alias of `apply --yes` for start scripts.

import { runApply } from './apply.ts';
import { addEngineOptions, type EngineAccessOptions } from './engine-access.ts';
import type { CommandDefinition } from './command-definition.ts';

/** Options of `register`: engine, directory of the definitions, and what may be overwritten. */
export interface RegisterOptions extends EngineAccessOptions {
  readonly dir?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
}

/** The command `register`: an alias of `apply --yes`. */
export const registerCommand: CommandDefinition<RegisterOptions> = {
  name: 'register',
  description: 'The same as `apply --yes`, for start scripts. Running it twice changes nothing.',
  exitCodes: {
    0: 'the engine has every definition as the files say',
    1: 'error: a definition is not valid, or the engine is out of reach or refused one',
    2: 'nothing was written: a published workflow version differs and --force was not given, or --dry-run found differences',
  },
  examples: [
    { command: 'register', does: 'bring the engine in step with the files, in a start script' },
    { command: 'register --dry-run', does: 'what would be done' },
  ],
  addOptions: (command) =>
    addEngineOptions(command)
      .option('--force', 'change published workflow versions as well (default: refuse)')
      .option('--dry-run', 'only show what would be done; changes nothing')
      .option('--dir <directory>', 'directory with workflows/ and event-handlers/ (default: the product)'),
  run: (options, context) => runApply({ ...options, diff: true }, { ...context, confirm: () => Promise.resolve() }),
};
