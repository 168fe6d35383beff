// Configuration keys of the prune job (jobs/prune).

import { Type } from 'typebox';
import { days, optionalPort, withDefault } from './key-types.ts';

export const prune = {
  'prune.intervalSeconds': withDefault(
    Type.Integer({
      minimum: 0,
      maximum: 2_000_000,
      description: 'from one round of the program that prunes to the next; 0 = off (seconds)',
    }),
    86_400,
  ),
  'prune.completedDays': days('how long executions that completed are kept', 30),
  'prune.failedDays': days('how long executions that failed, timed out or were terminated are kept', 30),
  'prune.eventDays': days("how long the engine's records of events are kept", 30),
  'prune.batchSize': withDefault(
    Type.Integer({ minimum: 1, maximum: 1_000, description: 'executions or records deleted in one call' }),
    100,
  ),
  'prune.healthPort': optionalPort('where the program that prunes says on ops.host whether it can'),
};
