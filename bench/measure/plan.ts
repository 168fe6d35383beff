// Plans the order of the measurements: at each load, all targets in turn, rotated so that no target is always first.

export interface Step<Name> {
  /** Number of the repetition, from 0. */
  readonly repetition: number;
  readonly inFlight: number;
  readonly target: Name;
}

/** Returns a step for every target at every load in every repetition. */
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

/** Returns the list rotated to the left by `by` elements. */
export function rotate<T>(list: readonly T[], by: number): T[] {
  const from = by % Math.max(1, list.length);
  return [...list.slice(from), ...list.slice(0, from)];
}
