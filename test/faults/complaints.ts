// Finds problems of a run other than violations: unchecked invariants, unavailability, slow recovery and endless
// repetition.

import type { Case } from './cases/case.ts';
import type { Verdict } from './check-history.ts';
import { invariants } from './violation.ts';
import type { Availability, Recovery, Repetition } from './figures.ts';

/** Time within which a route must work again after its dependency is back, in milliseconds. */
export const recoveryLimitMs = 5_000;
/** Minimum share of requests that must succeed while nothing is broken. */
const leastAvailable = 0.99;

/** Longest time for which a request may be repeated without a kill of an engine, in milliseconds. */
const repetitionLimitMs = 150_000;

/** The figures of a run that was not aborted. */
export interface Figures {
  readonly judged: Verdict['judged'];
  readonly undisturbed: Availability;
  readonly recoveries: readonly Recovery[];
  readonly repetition: Repetition;
}

/** Returns one line per complaint. @param slack multiplies the time limits */
export function complaintsOf(chosen: Pick<Case, 'notJudged'>, figures: Figures, slack: number): string[] {
  const { judged, undisturbed, recoveries, repetition } = figures;
  const silent = invariants.filter((each) => judged[each] === 0 && chosen.notJudged?.[each] === undefined);
  const late = recoveries.filter(({ ms }) => ms === undefined || ms > recoveryLimitMs * slack);
  const { requests, succeeded } = undisturbed;
  const isAvailable = requests > 0 && succeeded >= leastAvailable * requests;
  return [
    ...silent.map((invariant) => `${invariant} was not judged`),
    ...late.map(({ kind, ms }) => `${kind}: ${ms === undefined ? 'never recovered' : `recovered only after ${ms} ms`}`),
    ...(isAvailable ? [] : [`${succeeded} of ${requests} requests succeeded while nothing was broken`]),
    ...(repetition.undisturbedMs <= repetitionLimitMs * slack
      ? []
      : [`a request was repeated for ${Math.round(repetition.undisturbedMs / 1_000)} s without a kill of the engine`]),
  ];
}
