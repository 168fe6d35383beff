// The registry of the task types that a worker process can run.

import type { ConfigKey } from '#lib/config/schema.ts';
import { createCollegeAdaptorIntake } from './college-adaptor_intake.ts';
import { createLmsDwIntake } from './lms-dw_intake.ts';
import { createMdmNotify } from './mdm_notify.ts';
import { createMdmShare } from './mdm_share.ts';
import { createMoviesIntake } from './movies_intake.ts';
import type { Worker, WorkerDependencies } from './worker.ts';

/** How a worker process creates the worker of one task type. */
export interface WorkerRegistration {
  readonly create: (dependencies: WorkerDependencies) => Worker;
  /** Pools that its tasks are queued in: `default`, or the task domain of co-located workers (`workers.domain`). */
  readonly pools: readonly ('default' | 'domain')[];
  /** The configuration key of the URL that it needs. URLs of adaptors are looked up by MIS code instead. */
  readonly needs?: ConfigKey;
}

/** Every worker of the product: its factory and what it needs, by name of the task type. */
export const workers = {
  'lms-dw_intake': { create: createLmsDwIntake, pools: ['default'], needs: 'lmsDW.url' },
  'college-adaptor_intake': { create: createCollegeAdaptorIntake, pools: ['default', 'domain'] },
  movies_intake: { create: createMoviesIntake, pools: ['default'], needs: 'movies.url' },
  mdm_notify: { create: createMdmNotify, pools: ['default'], needs: 'mdm.url' },
  // Its tasks are always in the domain of the receiving college: only workers beside its adaptor can reach the adaptor.
  mdm_share: { create: createMdmShare, pools: ['domain'], needs: 'mdm.url' },
} as const satisfies Record<string, WorkerRegistration>;
