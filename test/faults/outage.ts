// The common sequence of a case: a component breaks and is repaired, and the affected routes must work again.

import type { FaultDescription, Route } from './history.ts';
import type { LoadOptions } from './load.ts';
import type { World } from './world.ts';

export type Outage = Partial<FaultDescription> & { readonly what: string };

const usual: readonly Route[] = ['movies', 'adaptor'];

/** Records an outage while `during` runs; resolves when the broken routes work again. */
export async function outage(world: World, fault: Outage, during: () => Promise<unknown>): Promise<void> {
  const { breaks: routes = usual, what, stops: router } = fault;
  world.fault({ ...fault, breaks: routes });
  await during();
  world.repaired(what);
  await world.untilServed({ routes, router });
}

/** Sends requests while `during` runs, in addition to the load; resolves after the last response. */
export async function underLoad(world: World, options: LoadOptions, during: () => Promise<unknown>): Promise<void> {
  const load = world.startLoad(options);
  try {
    await during();
  } finally {
    await load.stop();
  }
}
