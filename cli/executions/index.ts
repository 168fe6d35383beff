// `executions`: its verbs, in the order in which people meet them.

import type { Command } from 'commander';
import { toCommand, toGroup } from '../command-definition.ts';
import { cancelExecutions } from './cancel.ts';
import { listExecutions } from './list.ts';
import { retryExecutions } from './retry.ts';
import { showExecution } from './show.ts';
import { terminateExecutions } from './terminate.ts';

export function executionsCommand(): Command {
  return toGroup('executions', 'Look at executions, and retry or end them.', [
    toCommand(listExecutions),
    toCommand(showExecution),
    toCommand(retryExecutions),
    toCommand(terminateExecutions),
    toCommand(cancelExecutions),
  ]);
}
