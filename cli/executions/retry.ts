// The command `executions retry`.

import { interventionCommand } from './intervention.ts';

/** The command `executions retry`. */
export const retryExecutions = interventionCommand('retry', {
  description: 'Continue failed executions at the task that failed. A write is sent once more.',
  examples: [
    {
      command: 'executions retry 0fc5f23b-426d-4282-aaed-d10bc2399d72',
      does: 'an mdmWF that failed, once MDM works again',
    },
    {
      command: 'executions retry 0fc5f23b-426d-4282-aaed-d10bc2399d72 --yes --json',
      does: 'without a question, for a program',
    },
  ],
});
