// The command `executions terminate`.

import { interventionCommand } from './intervention.ts';

/** The command `executions terminate`. */
export const terminateExecutions = interventionCommand('terminate', {
  description: 'End running executions, even while a worker runs a task. Changes that a back end has made remain.',
  examples: [
    {
      command: 'executions terminate 8d7639e9-acd5-4759-a909-d12318e8e65b',
      does: 'an execution that no client waits for',
    },
    {
      command: 'executions terminate 8d7639e9-acd5-4759-a909-d12318e8e65b --reason "college 002 is closed"',
      does: 'say why',
    },
  ],
});
