// The registry of the workers that have their own file. Plain back ends use back-end_intake.ts.

import type { ConfigKey } from '#lib/config/schema.ts';
import { createCollegeAdaptorIntake } from './college-adaptor_intake.ts';
import { createMdmNotify } from './mdm_notify.ts';
import { createMdmShare } from './mdm_share.ts';
import type { Worker, WorkerDependencies } from './worker.ts';

/** The pools of tasks: `default`, and the task domain of co-located workers (`workers.domain`). */
export const pools = ['default', 'domain'] as const;

/** How a worker process creates the worker of one task type. */
export interface WorkerRegistration {
  readonly create: (dependencies: WorkerDependencies) => Worker;
  /** Pools in which tasks of the type are queued. */
  readonly pools: readonly (typeof pools)[number][];
  /** Pool in which the worker runs only if `workers.taskTypes` names the task type. */
  readonly onlyNamedIn?: 'domain';
  /** Configuration key of the URL that the worker needs. URLs of adaptors are looked up by MIS code instead. */
  readonly needs?: ConfigKey;
}

/**
 * Worker registrations by task type. The `workers/index.ts` of a gateway exports the gateway's own registrations as
 * `workers`.
 */
export type WorkerRegistry = Readonly<Record<string, WorkerRegistration>>;

/** The workers of the product that have their own file: factory and requirements by task type. */
export const workers = {
  'college-adaptor_intake': { create: createCollegeAdaptorIntake, pools: ['default', 'domain'] },
  mdm_notify: { create: createMdmNotify, pools: ['default'], needs: 'mdm.url' },
  // These tasks are always in the domain of the receiving college: only workers beside an adaptor can reach the
  // adaptor.
  mdm_share: { create: createMdmShare, pools: ['domain'], needs: 'mdm.url' },
} as const satisfies WorkerRegistry;
