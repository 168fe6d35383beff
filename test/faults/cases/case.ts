// What a case is.

import type { GivenEngine, World, WorldOptions } from '../world.ts';

/** What {@link Case.setUp} started. */
export interface SetUp {
  readonly router?: Record<string, string>;
  readonly workers?: Record<string, string>;
  tearDown(): Promise<void>;
}

export interface Case {
  /** As `--case` names it. */
  readonly name: string;
  /** Tries of a usual run. */
  readonly tries: number;
  readonly world?: WorldOptions;
  /** Breaks something once, repairs it, and returns when what it sent has been answered. */
  tryOnce(world: World): Promise<void>;
  /** Starts what the case needs besides a world, which then gets these variables. */
  setUp?(engine: GivenEngine): Promise<SetUp>;
  /** MDM may take this long after the last try, in milliseconds. Default 150 000. */
  readonly mdmMs?: number;
  /** The engine's data lies on a tmpfs of this size (in MiB); needs the right to mount one, and PostgreSQL on this machine. */
  readonly diskMiB?: number;
  /** It needs an engine of this kind, whatever the run was asked for, with a PostgreSQL server of its own. */
  readonly ownServer?: 'postgresql';
  /** What this machine lacks for the case; nothing when it has all. */
  readonly missing?: () => string | undefined;
}
