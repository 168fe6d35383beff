// What the last shared stack of this worker has left running, for the next one or until another stack needs the engine.

import { killProgramsExcept } from './program.ts';
import { type StackParts, stopPart } from './stack-part.ts';

export type IdleStack = Pick<StackParts, 'stateDir' | 'ports'> & Partial<StackParts>;

let idle: IdleStack | undefined;

/** Returns it, undefined before the first; it is the caller's from now on. */
export function takeIdleStack(): IdleStack | undefined {
  const taken = idle;
  idle = undefined;
  return taken;
}

export function leaveIdleStack(left: IdleStack): void {
  idle = left;
}

/** Kills what a file has left running that is of no use to the next one. */
export async function killLeftovers(): Promise<void> {
  const { identityProvider, backEnds, router, workers = [] } = idle ?? {};
  const kept = [identityProvider, backEnds, router, ...workers].flatMap((part) => part?.program ?? []);
  await killProgramsExcept(kept);
}

/** Ends what would take tasks from another router and its workers; identity provider and back ends stay. */
export async function stopIdleWorkers(): Promise<void> {
  const { workers = [], router } = idle ?? {};
  await Promise.all(workers.map(stopPart));
  if (router !== undefined) await stopPart(router);
}
