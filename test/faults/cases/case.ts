// The interface that every fault injection case implements.

import type { Requirement } from '../../run/requirements.ts';
import type { Invariant } from '../violation.ts';
import type { EngineKind, FaultEngineOptions } from '../engine.ts';
import type { LoadOptions } from '../load.ts';
import type { WorldOptions } from '../start-world.ts';
import type { GivenEngine } from '../engine.ts';
import type { World } from '../world.ts';

/** Result of {@link Case.setUp}. */
export interface SetUp {
  readonly router?: Readonly<Record<string, string>>;
  readonly workers?: Readonly<Record<string, string>>;
  tearDown(): unknown;
}

export interface Case {
  /** Name for `--case`. */
  readonly name: string;
  /** Number of tries in a run without `--tries`. */
  readonly tries: number;
  readonly world?: WorldOptions;
  /** The load during all tries of the case. Default: a few clients of every kind. */
  readonly load?: LoadOptions;
  /** Breaks something once, repairs it, and returns when all requests of this try have responses. */
  tryOnce(world: World): Promise<void>;
  /** Starts additional servers for the case and returns environment variables for the world. */
  setUp?(engine: GivenEngine): Promise<SetUp>;
  /** Multiplies the response timeouts of all tasks. Default: a quarter. */
  readonly timeoutScale?: number;
  /** How long a run without progress waits for the system to settle, in milliseconds. Default: 150 000. */
  readonly restMs?: number;
  /** True when the reconcilers must have nothing left to repair at the end of a run. */
  readonly nothingMissing?: boolean;
  /** Additional requirements for the engine; the case then gets a separate engine. */
  readonly engine?: Omit<FaultEngineOptions, 'templateDir' | 'environment'> & {
    readonly kind?: EngineKind;
    readonly environment?: () => Readonly<Record<string, string>>;
  };
  /** Why the case does not run on some stores. */
  readonly notOn?: Partial<Readonly<Record<EngineKind, string>>>;
  /** Requirements that the machine must meet. */
  readonly needs?: readonly Requirement[];
  /** Returns another requirement that this machine does not meet; undefined when there is none. */
  readonly missing?: () => Promise<string | undefined>;
  /** Invariants that the case cannot check, and why. */
  readonly notJudged?: Partial<Readonly<Record<Invariant, string>>>;
}
