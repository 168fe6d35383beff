// Configuration keys of the prune job (jobs/prune).

import { Type } from '#lib/json/json-schema.ts';
import { days, optionalPort, withDefault } from './key-types.ts';

/** The `prune.…` keys: how long ended executions and event records are kept, and how they are deleted. */
export const prune = {
  'prune.intervalSeconds': withDefault(
    Type.Integer({
      minimum: 0,
      maximum: 2_000_000,
      description: 'time between the starts of two runs of the prune job; 0 = off (seconds)',
    }),
    86_400,
  ),
  'prune.completedDays': days('how long completed executions are kept', 30),
  'prune.failedDays': days('how long failed, timed-out and terminated executions are kept', 30),
  'prune.eventDays': days("how long the engine's event records are kept", 30),
  'prune.batchSize': withDefault(
    Type.Integer({ minimum: 1, maximum: 1_000, description: 'executions or records deleted in one call' }),
    100,
  ),
  'prune.healthPort': optionalPort('health port of the prune job on `ops.host`; no port when absent'),
};
