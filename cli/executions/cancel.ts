// `executions cancel`.

import { interventionVerb } from './intervention.ts';

export const cancelExecutions = interventionVerb('cancel', {
  description: 'End running executions that no worker has begun, so that nothing of them has reached a back end.',
  examples: [
    {
      command: 'executions cancel 8d7639e9-acd5-4759-a909-d12318e8e65b',
      does: 'one that waits for workers that are away',
    },
    { command: 'executions cancel 8d7639e9-acd5-4759-a909-d12318e8e65b --yes', does: 'without a question' },
  ],
});
