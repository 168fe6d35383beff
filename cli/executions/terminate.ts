// `executions terminate`.

import { interventionVerb } from './intervention.ts';

export const terminateExecutions = interventionVerb('terminate', {
  description: 'End running executions, whoever works on them. What a back end has done already stays done.',
  examples: [
    {
      command: 'executions terminate 8d7639e9-acd5-4759-a909-d12318e8e65b',
      does: 'one that nobody waits for any more',
    },
    {
      command: 'executions terminate 8d7639e9-acd5-4759-a909-d12318e8e65b --reason "college 002 is closed"',
      does: 'say why',
    },
  ],
});
