// The command group `executions`.

import type { Command } from 'commander';
import { toCommand, toGroup } from '../command-definition.ts';
import { cancelExecutions } from './cancel.ts';
import { listExecutions } from './list.ts';
import { retryExecutions } from './retry.ts';
import { showExecution } from './show.ts';
import { terminateExecutions } from './terminate.ts';

/** Returns the group with its subcommands, in the order of the help. */
export function executionsCommand(): Command {
  return toGroup('executions', 'Show executions, and retry or end them.', [
    toCommand(listExecutions),
    toCommand(showExecution),
    toCommand(retryExecutions),
    toCommand(terminateExecutions),
    toCommand(cancelExecutions),
  ]);
}
