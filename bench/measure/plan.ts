// The order of the measurements: all targets at one load, rotated so that none is always first.

export interface Step<Name> {
  /** From 0. */
  readonly repetition: number;
  readonly inFlight: number;
  readonly target: Name;
}

/** Every target at every load in every repetition. */
export function planSteps<Name>(options: {
  targets: readonly Name[];
  inFlight: readonly number[];
  repetitions: number;
}): Step<Name>[] {
  const { targets, inFlight, repetitions } = options;
  return Array.from({ length: repetitions }, (_, repetition) =>
    inFlight.flatMap((clients, index) =>
      rotate(targets, repetition + index).map((target) => ({ repetition, inFlight: clients, target })),
    ),
  ).flat();
}

/** Returns the list from its element `by` on, and then those before it. */
export function rotate<T>(list: readonly T[], by: number): T[] {
  const from = by % Math.max(1, list.length);
  return [...list.slice(from), ...list.slice(0, from)];
}
