// How nearly every case goes: something breaks, is repaired, and what needs it has to be served again, with or without load.

import type { Route } from './history.ts';
import { type LoadOptions, startLoad } from './load.ts';
import type { World } from './world.ts';

export interface Outage {
  /** Its name in the history. */
  readonly what: string;
  /** Routes that must not notice. Default none. */
  readonly spares?: readonly Route[] | undefined;
  /** Address of a router that cannot respond meanwhile. */
  readonly stops?: string | undefined;
}

/** Every route that needs neither the data warehouse nor what is broken. */
export const allOthers: readonly Route[] = ['movies', 'adaptor', 'token', 'health', 'refused'];
/** Routes that need no execution. */
export const withoutExecution: readonly Route[] = ['token', 'health', 'refused'];

/** The outage lasts as long as `during`; resolves when reads are answered with success. */
export async function outage(
  world: World,
  { what, spares, stops }: Outage,
  during: () => Promise<unknown>,
): Promise<void> {
  world.fault(what, spares, stops);
  await during();
  world.repaired(what);
  await world.untilServed();
}

/** Clients send requests as long as `during`; resolves when the last of them has been answered. */
export async function underLoad(world: World, options: LoadOptions, during: () => Promise<unknown>): Promise<void> {
  const load = startLoad(world.operations, options);
  try {
    await during();
  } finally {
    await load.stop();
  }
}

/** A few unhurried clients, for cases about what must not be noticed. */
export const lightLoad: LoadOptions = { clients: 2, pauseMs: 200, patchesPerSecond: 1 };
