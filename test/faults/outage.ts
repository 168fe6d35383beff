// How nearly every case goes: something breaks, is repaired, and what needs it has to be served again.

import type { FaultDescription, Route } from './history.ts';
import type { LoadOptions } from './load.ts';
import type { World } from './world.ts';

export type Outage = Partial<FaultDescription> & { readonly what: string };

const usual: readonly Route[] = ['movies', 'adaptor'];

/** The outage lasts as long as `during`; resolves when the routes that it breaks are served again. */
export async function outage(world: World, fault: Outage, during: () => Promise<unknown>): Promise<void> {
  const { breaks: routes = usual, what, stops: router } = fault;
  world.fault({ ...fault, breaks: routes });
  await during();
  world.repaired(what);
  await world.untilServed({ routes, router });
}

/** Clients send requests as long as `during`, besides the load of the case; resolves when all have been answered. */
export async function underLoad(world: World, options: LoadOptions, during: () => Promise<unknown>): Promise<void> {
  const load = world.startLoad(options);
  try {
    await during();
  } finally {
    await load.stop();
  }
}
