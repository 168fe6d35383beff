// Tests of complaints about an invariant that was never checked, requests that fail without a fault, slow recovery and
// endless repetition.

import { describe, expect, it } from 'vitest';
import { complaintsOf, type Figures } from './complaints.ts';

const good: Figures = {
  judged: { I1: 1, I2: 1, I3: 1, I4: 1, I5: 1, I6: 1, I7: 1 },
  undisturbed: { requests: 100, succeeded: 99 },
  recoveries: [{ kind: 'engine', ms: 5_000, outageMs: 30_000 }],
  repetition: { ms: 900_000, undisturbedMs: 150_000 },
};
const found = (more: Partial<Figures>, notJudged = {}, slack = 1) =>
  complaintsOf({ notJudged }, { ...good, ...more }, slack);

describe('a run', () => {
  it('with everything judged, 99 % served and service back in time: no complaint', () => {
    expect(found({})).toEqual([]);
  });

  it('in which an invariant was never checked: a complaint, unless the case gives a reason', () => {
    const judged = { ...good.judged, I6: 0 };
    expect(found({ judged })).toEqual(['I6 was not judged']);
    expect(found({ judged }, { I6: 'nothing breaks' })).toEqual([]);
    expect(found({ judged }, { I2: 'no PATCH' })).toEqual(['I6 was not judged']);
  });

  it.each([
    ['fewer than 99 % served without a fault', { requests: 1_000, succeeded: 989 }],
    ['no request without a fault', { requests: 0, succeeded: 0 }],
  ])('with %s: a complaint', (_title, undisturbed) => {
    const line = `${undisturbed.succeeded} of ${undisturbed.requests} requests succeeded while nothing was broken`;
    expect(found({ undisturbed })).toEqual([line]);
  });

  it('with a late or a missing recovery: a complaint for each; with slack, the time limit is higher', () => {
    const recoveries = [
      { kind: 'engine', ms: 5_001, outageMs: 6_000 },
      { kind: 'Redis', ms: undefined, outageMs: undefined },
    ];
    expect(found({ recoveries })).toEqual(['engine: recovered only after 5001 ms', 'Redis: never recovered']);
    expect(found({ recoveries }, {}, 2)).toEqual(['Redis: never recovered']);
  });

  it('in which a client kept repeating a request: a complaint; with slack, the time limit is higher', () => {
    const repetition = { ms: 900_000, undisturbedMs: 151_000 };
    expect(found({ repetition })).toEqual(['a request was repeated for 151 s without a kill of the engine']);
    expect(found({ repetition }, {}, 2)).toEqual([]);
  });
});
