// The list of what the workers can work on.

import type { ConfigKey } from '#lib/config/schema.ts';
import { createCollegeAdaptorIntake } from './college-adaptor_intake.ts';
import { createLmsDwIntake } from './lms-dw_intake.ts';
import { createMdmNotify } from './mdm_notify.ts';
import { createMdmShare } from './mdm_share.ts';
import { createMoviesIntake } from './movies_intake.ts';
import type { Worker, WorkerDependencies } from './worker.ts';

/** One task type that a process may work on. */
export interface WorkerRegistration {
  readonly create: (dependencies: WorkerDependencies) => Worker;
  /** In which pools its tasks wait: `default`, or the task domain of the co-located workers (`workers.domain`). */
  readonly pools: readonly ('default' | 'domain')[];
  /** The address it cannot do without. Those of adaptors are looked up by MIS code instead. */
  readonly needs?: ConfigKey;
}

/** Every task type by its name. */
export const workers = {
  'lms-dw_intake': { create: createLmsDwIntake, pools: ['default'], needs: 'lmsDW.url' },
  'college-adaptor_intake': { create: createCollegeAdaptorIntake, pools: ['default', 'domain'] },
  movies_intake: { create: createMoviesIntake, pools: ['default'], needs: 'movies.url' },
  mdm_notify: { create: createMdmNotify, pools: ['default'], needs: 'mdm.url' },
  // Always in the domain of the college it is for: only the workers beside an adaptor reach it.
  mdm_share: { create: createMdmShare, pools: ['domain'], needs: 'mdm.url' },
} as const satisfies Record<string, WorkerRegistration>;
