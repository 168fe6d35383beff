// The engines of a run, one for each file that runs concurrently: concurrent files must not share an engine's queues.

import { inject } from 'vitest';

export interface EngineOfRun {
  readonly url: string;
  /** Folder of the engine's database and log; CONDUCTOR_STATE_DIR for an engine that CONDUCTOR_URL names. */
  readonly stateDir: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    engines: readonly EngineOfRun[];
  }
}

/** Returns the engine of the Vitest worker that runs this file. Vitest numbers concurrent workers from 1. */
export function engineOfRun(): EngineOfRun {
  const engines = inject('engines');
  const engine = engines[Number(process.env['VITEST_POOL_ID']) - 1];
  if (engine === undefined)
    throw new Error(`worker ${process.env['VITEST_POOL_ID']} has none of the ${engines.length} engines`);
  return engine;
}
