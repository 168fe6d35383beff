// A logarithmic axis: the position of each value, and the values at which a grid line can be drawn.

export interface LogScale {
  /** Returns the position of a value, in pixels. */
  at(value: number): number;
  /** Values at which a grid line can be drawn: 1, 2 and 5 times every power of ten. */
  readonly ticks: readonly number[];
}

/**
 * Returns an axis that covers all values and begins and ends at a tick.
 * @param pixels positions of the first and last tick
 */
export function logScale(values: readonly number[], pixels: { least: number; greatest: number }): LogScale {
  const usable = values.filter((value) => value > 0 && Number.isFinite(value));
  const all = steps(Math.min(...usable), Math.max(...usable));
  const ticks = all.length > 1 ? all : [1, 10];
  const [low = 1, high = 10] = [ticks[0], ticks.at(-1)];
  const perDecade = (pixels.greatest - pixels.least) / Math.log10(high / low);
  return { at: (value) => pixels.least + Math.log10(value / low) * perDecade, ticks };
}

/** Returns the steps from the last step at or below `least` to the first step at or above `greatest`. */
function steps(least: number, greatest: number): number[] {
  const decades = Array.from({ length: 16 }, (_, index) => index - 6);
  const all = decades.flatMap((decade) => [1, 2, 5].map((step) => Number(`${step}e${decade}`)));
  const first = all.findLastIndex((step) => step <= least);
  const last = all.findIndex((step) => step >= greatest);
  return all.slice(Math.max(0, first), last + 1);
}
