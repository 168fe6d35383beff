// The command `executions cancel`.

import { interventionCommand } from './intervention.ts';

/** The command `executions cancel`. */
export const cancelExecutions = interventionCommand('cancel', {
  description: 'End running executions that no worker has begun, so that no request of theirs reaches a back end.',
  examples: [
    {
      command: 'executions cancel 8d7639e9-acd5-4759-a909-d12318e8e65b',
      does: 'an execution that waits for absent workers',
    },
    { command: 'executions cancel 8d7639e9-acd5-4759-a909-d12318e8e65b --yes', does: 'without a question' },
  ],
});
