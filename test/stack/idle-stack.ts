// What the last shared stack of this worker has left running, for the next one or until another stack needs the engine.

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

/** Ends what would take tasks from another router and its workers; identity provider and back ends stay. */
export async function stopIdleWorkers(): Promise<void> {
  const { workers = [], router } = idle ?? {};
  await Promise.all(workers.map(stopPart));
  if (router !== undefined) await stopPart(router);
}
