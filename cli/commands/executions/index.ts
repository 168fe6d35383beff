// The command group `executions`.

import type { Command } from 'commander';
import { toCommand, toGroup } from '../../command-definition.ts';
import { interventionCommand } from './intervention.ts';
import { listExecutions } from './list.ts';
import { showExecution } from './show.ts';

const retryExecutions = interventionCommand('retry', {
  description: 'Continue failed executions at the task that failed. A write is sent again.',
  examples: [
    {
      command: 'executions retry 0fc5f23b-426d-4282-aaed-d10bc2399d72',
      does: 'retry a failed mdmWF, once MDM works again',
    },
    {
      command: 'executions retry 0fc5f23b-426d-4282-aaed-d10bc2399d72 --yes --json',
      does: 'retry without asking, for programs',
    },
  ],
});

const terminateExecutions = interventionCommand('terminate', {
  description: 'End running executions, even while a worker runs a task. Changes that a back end has made remain.',
  examples: [
    {
      command: 'executions terminate 8d7639e9-acd5-4759-a909-d12318e8e65b',
      does: 'terminate an execution that no client waits for',
    },
    {
      command: 'executions terminate 8d7639e9-acd5-4759-a909-d12318e8e65b --reason "college 002 is closed"',
      does: 'record a reason',
    },
  ],
});

const cancelExecutions = interventionCommand('cancel', {
  description: 'End running executions whose tasks no worker has taken, so nothing reaches a back end.',
  examples: [
    {
      command: 'executions cancel 8d7639e9-acd5-4759-a909-d12318e8e65b',
      does: 'cancel an execution whose workers are not running',
    },
    { command: 'executions cancel 8d7639e9-acd5-4759-a909-d12318e8e65b --yes', does: 'cancel without asking' },
  ],
});

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
