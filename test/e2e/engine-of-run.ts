// The engines of a run, one for each file that runs at a time: files share an engine's queues, so no two may run on one.

import { inject } from 'vitest';

export interface EngineOfRun {
  readonly url: string;
  /** Where the engine keeps its database and its log; of a given one, CONDUCTOR_STATE_DIR. */
  readonly stateDir: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    engines: readonly EngineOfRun[];
  }
}

/** The engine of the worker that runs this file. Vitest numbers those that run at the same time from 1. */
export function engineOfRun(): EngineOfRun {
  const engines = inject('engines');
  const engine = engines[Number(process.env['VITEST_POOL_ID']) - 1];
  if (engine === undefined)
    throw new Error(`worker ${process.env['VITEST_POOL_ID']} has none of the ${engines.length} engines`);
  return engine;
}
