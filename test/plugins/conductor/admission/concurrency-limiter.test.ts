// Places: the limits of both stages, the share of a back end, the reserve of reads and writes, and a queue that is fair and short.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type PermitRequest,
  createBulkhead,
  type Bulkhead,
  type RequestClass,
} from '../../../../plugins/conductor/admission/bulkhead.ts';
import {
  type Permit,
  type Refused,
  ConcurrencyLimiter,
} from '../../../../plugins/conductor/admission/concurrency-limiter.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const defaults = {
  waiting: 100,
  limit: 10,
  queueLength: 10,
  queueMs: 1_000,
  laneSharePercent: 100,
  reservedPercent: 0,
};
const never = () => new AbortController().signal;

function createSlots(given: Partial<typeof defaults> = {}) {
  const options = { ...defaults, ...given };
  const slots = new ConcurrencyLimiter({
    ...options,
    limits: { waiting: () => options.waiting, inFlight: () => options.limit },
  });
  const claim = (lane: Bulkhead, requestClass: RequestClass = 'read', client = 'one'): PermitRequest => ({
    lane,
    requestClass,
    client,
  });
  /** Takes as many as it can get without waiting. */
  const fill = (each: PermitRequest, most: number): Permit[] => {
    const places: Permit[] = [];
    for (; places.length < most;) {
      const gone = new AbortController();
      const place = slots.take(each, () => gone.signal);
      gone.abort();
      if (!('takenAt' in place)) break;
      places.push(place);
    }
    return places;
  };
  /** Takes one that is there. */
  const take = (each: PermitRequest): Permit => {
    const place = slots.take(each, never);
    if ('takenAt' in place) return place;
    throw new Error('there is no place');
  };
  /** Holds it for so long. */
  const release = (place: Permit, heldMs = 5) => {
    vi.advanceTimersByTime(heldMs);
    slots.release(place, true);
  };
  return { slots, options, claim, fill, take, release };
}

describe('what may be in flight', () => {
  it('one back end: its share and no more; another one gets the rest', () => {
    const { claim, fill } = createSlots({ laneSharePercent: 60 });
    expect(fill(claim(createBulkhead()), 20)).toHaveLength(6);
    expect(fill(claim(createBulkhead()), 20)).toHaveLength(4);
  });

  it('reads: leave their reserve to writes, and writes to reads', () => {
    for (const [one, other] of [
      ['read', 'write'],
      ['write', 'read'],
    ] as const) {
      const { claim, fill } = createSlots({ reservedPercent: 20 });
      const lane = createBulkhead();
      expect(fill(claim(lane, one), 20)).toHaveLength(8);
      expect(fill(claim(lane, other), 20)).toHaveLength(2);
    }
  });

  it('a limit of one: still serves', () => {
    const { claim, fill } = createSlots({ limit: 1, laneSharePercent: 50, reservedPercent: 50 });
    expect(fill(claim(createBulkhead()), 5)).toHaveLength(1);
  });
});

describe('what may wait for a worker', () => {
  it('its limit: those with a worker do not count', () => {
    const { slots, claim, fill } = createSlots({ waiting: 3 });
    const lane = createBulkhead();
    const places = fill(claim(lane), 20);
    expect(places).toHaveLength(3);
    for (const place of places) slots.handedOut(place);
    expect(fill(claim(lane), 20)).toHaveLength(3);
    expect([slots.taken('waiting'), slots.taken('inFlight')]).toEqual([3, 6]);
  });

  it('one is handed out: the first in the queue gets in', async () => {
    const { slots, claim, take } = createSlots({ waiting: 1 });
    const place = take(claim(createBulkhead()));
    const waiting = slots.take(claim(createBulkhead()), never);
    expect(waiting).toBeInstanceOf(Promise);
    slots.handedOut(place);
    expect(await waiting).toMatchObject({ waiting: true });
  });

  it('handed out twice, and given back: counted once', () => {
    const { slots, claim, take } = createSlots();
    const place = take(claim(createBulkhead()));
    slots.handedOut(place);
    slots.handedOut(place);
    slots.release(place, true);
    expect([slots.taken('waiting'), slots.taken('inFlight')]).toEqual([0, 0]);
  });

  it('a back end whose workers are all busy: takes its share of those that wait, others pass', () => {
    const { claim, fill } = createSlots({ waiting: 4, laneSharePercent: 50 });
    expect(fill(claim(createBulkhead()), 20)).toHaveLength(2);
    expect(fill(claim(createBulkhead()), 20)).toHaveLength(2);
  });
});

describe('the queue', () => {
  it('is served in the order of arrival', async () => {
    const { slots, claim, take, release } = createSlots({ limit: 1 });
    const lane = createBulkhead();
    let place = take(claim(lane));
    const waits = [1, 2, 3].map(() => slots.take(claim(lane), never));
    for (const wait of waits) {
      release(place);
      place = (await wait) as Permit;
      expect(place.takenAt).toBe(performance.now());
    }
    expect(slots.queued).toBe(0);
  });

  it('a back end at its share: those of another overtake', () => {
    const { slots, claim, fill } = createSlots({ limit: 4, laneSharePercent: 50 });
    const [slow, quick] = [createBulkhead(), createBulkhead()];
    fill(claim(slow), 2);
    expect(slots.take(claim(slow), never)).toBeInstanceOf(Promise);
    expect(slots.take(claim(quick), never)).toMatchObject({ waiting: true });
  });

  it('full: refused at once', () => {
    const { slots, claim } = createSlots({ limit: 1, queueLength: 2 });
    const lane = createBulkhead();
    for (let index = 0; index < 3; index++) void slots.take(claim(lane), never);
    expect(slots.queued).toBe(2);
    expect(slots.take(claim(lane), never)).toMatchObject({ refusal: 'full' });
  });

  it('full of reads: writes still find room, to run and to wait', () => {
    const { slots, claim, fill } = createSlots({ reservedPercent: 20 });
    const lane = createBulkhead();
    fill(claim(lane, 'read'), 10);
    for (let index = 0; index < 20; index++) void slots.take(claim(lane, 'read'), never);
    expect(slots.queued).toBe(8);
    expect(fill(claim(lane, 'write'), 10)).toHaveLength(2);
    expect(slots.take(claim(lane, 'write'), never)).toBeInstanceOf(Promise);
  });

  it('a wait that would be longer than allowed: refused at once, with the time it would take', () => {
    const { slots, claim, take, release } = createSlots({ limit: 1 });
    const lane = createBulkhead();
    release(take(claim(lane)), 700);
    take(claim(lane));
    expect(slots.take(claim(lane), never)).toBeInstanceOf(Promise);
    const refused = slots.take(claim(lane), never) as Refused;
    expect(refused).toMatchObject({ refusal: 'too-long' });
    expect(refused.retryAfterMs).toBeGreaterThanOrEqual(1_400);
  });

  it('a standstill: those who come later are refused at once', () => {
    const { slots, claim, take } = createSlots({ limit: 1 });
    const lane = createBulkhead();
    take(claim(lane));
    expect(slots.take(claim(lane), never)).toBeInstanceOf(Promise);
    vi.advanceTimersByTime(1_001);
    expect(slots.take(claim(lane), never)).toMatchObject({ refusal: 'too-long' });
  });

  it('a short standstill that is over: counts once, not for each place that sat through it', () => {
    const { slots, claim, take, release } = createSlots({ limit: 10, queueLength: 100 });
    const lane = createBulkhead();
    for (let times = 0; times < 200; times++) release(take(claim(lane)), 20);
    const sat = Array.from({ length: 10 }, () => take(claim(lane)));
    vi.advanceTimersByTime(500);
    for (const place of sat) slots.release(place, true);
    for (const _ of sat) take(claim(lane));
    // They wait for 40 times 20 ms, shared by 10 places.
    for (let ahead = 0; ahead < 40; ahead++) expect(slots.take(claim(lane), never)).toBeInstanceOf(Promise);
  });

  it('a wait that is over against expectation: refused, and its place is free', async () => {
    const { slots, claim, take } = createSlots({ limit: 1 });
    const lane = createBulkhead();
    take(claim(lane));
    const waiting = slots.take(claim(lane), never);
    vi.advanceTimersByTime(1_000);
    expect(await waiting).toMatchObject({ refusal: 'expired' });
    expect([slots.queued, lane.queued.count]).toEqual([0, 0]);
  });

  it('a client that leaves: is not served, and its place is free', async () => {
    const { slots, claim, take, release } = createSlots({ limit: 1 });
    const lane = createBulkhead();
    const client = new AbortController();
    const place = take(claim(lane));
    const waiting = slots.take(claim(lane), () => client.signal);
    client.abort();
    expect(await waiting).toMatchObject({ refusal: 'gone' });
    expect([slots.queued, lane.queued.count]).toEqual([0, 0]);
    release(place);
    expect(slots.taken('inFlight')).toBe(0);
  });

  it('the limit falls while all are taken: nobody is thrown out, nobody new gets in until there is room', () => {
    const { slots, options, claim, fill, release } = createSlots();
    const lane = createBulkhead();
    const places = fill(claim(lane), 10);
    options.limit = 2;
    void slots.take(claim(lane), never);
    for (const place of places.slice(0, 8)) release(place);
    expect([slots.taken('inFlight'), slots.queued]).toEqual([2, 1]);
    release(places[8] as Permit);
    expect([slots.taken('inFlight'), slots.queued]).toEqual([2, 0]);
  });

  it('the limit rises: those who wait are the first to profit', async () => {
    const { slots, options, claim, take } = createSlots({ limit: 1 });
    const lane = createBulkhead();
    take(claim(lane));
    const first = slots.take(claim(lane), never);
    options.limit = 2;
    expect(slots.take(claim(lane), never)).toBeInstanceOf(Promise);
    expect(await first).toMatchObject({ waiting: true });
  });
});

describe('a client that asks for everything', () => {
  const of = (lane: Bulkhead, client: string): PermitRequest => ({ lane, requestClass: 'read', client });

  it('has its places, and the next one goes to who has none', async () => {
    const { slots, fill, release } = createSlots({ limit: 2 });
    const lane = createBulkhead();
    const [place] = fill(of(lane, 'greedy'), 2);
    const order: string[] = [];
    for (const client of ['greedy', 'greedy', 'modest', 'greedy']) {
      void Promise.resolve(slots.take(of(lane, client), never)).then(() => order.push(client));
    }
    release(place as Permit);
    await vi.waitFor(() => expect(order).toEqual(['modest']));
  });

  it('makes room in a full queue for one that has fewer there', async () => {
    const { slots, fill } = createSlots({ limit: 1, queueLength: 3 });
    const lane = createBulkhead();
    fill(of(lane, 'greedy'), 1);
    const waits = [1, 2, 3].map(() => slots.take(of(lane, 'greedy'), never));
    expect(slots.take(of(lane, 'modest'), never)).toBeInstanceOf(Promise);
    expect(await waits[2]).toMatchObject({ refusal: 'full' });
    expect([slots.queued, lane.queued.of('greedy'), lane.queued.of('modest')]).toEqual([3, 2, 1]);
    // As many as the other would have: no more room is made.
    expect(slots.take(of(lane, 'modest'), never)).toMatchObject({ refusal: 'full' });
    expect(slots.take(of(lane, 'greedy'), never)).toMatchObject({ refusal: 'full' });
  });

  it('makes room in the part of its own back end, where that is what is full', async () => {
    const { slots, fill } = createSlots({ limit: 2, queueLength: 4, laneSharePercent: 50 });
    const [one, other] = [createBulkhead(), createBulkhead()];
    fill(of(one, 'greedy'), 1);
    fill(of(other, 'greedy'), 1);
    const waits = [one, one, other].map((lane) => slots.take(of(lane, 'greedy'), never));
    expect(slots.take(of(one, 'modest'), never)).toBeInstanceOf(Promise);
    expect(await waits[1]).toMatchObject({ refusal: 'full' });
    expect([one.queued.count, other.queued.count]).toEqual([2, 1]);
  });

  it('does not lengthen the wait that another can expect', () => {
    const { slots, take, release } = createSlots({ limit: 1, queueMs: 1_000 });
    const lane = createBulkhead();
    release(take(of(lane, 'greedy')), 300);
    take(of(lane, 'greedy'));
    for (let index = 0; index < 3; index++) void slots.take(of(lane, 'greedy'), never);
    expect(slots.take(of(lane, 'greedy'), never)).toMatchObject({ refusal: 'too-long' });
    expect(slots.take(of(lane, 'modest'), never)).toBeInstanceOf(Promise);
  });
});

describe('asked beforehand whether a claim would be refused', () => {
  it('says what taking it says, and takes nothing', () => {
    const clients = ['one', 'two', 'three'];
    const step = fc.record({
      lane: fc.nat(1),
      requestClass: fc.constantFrom<RequestClass>('read', 'write'),
      client: fc.constantFrom(...clients),
      ends: fc.nat(3).map((one) => one === 0),
      ms: fc.nat(100),
    });
    let refusals = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 60 }), (steps) => {
        const { slots, claim, release } = createSlots({
          ...{ limit: 3, queueLength: 5, laneSharePercent: 60, reservedPercent: 20 },
        });
        const lanes = [createBulkhead(), createBulkhead()];
        const places: Permit[] = [];
        for (const { lane, requestClass, client, ends, ms } of steps) {
          vi.advanceTimersByTime(ms);
          const each = claim(lanes[lane] as Bulkhead, requestClass, client);
          const before = [slots.taken('inFlight'), slots.queued];
          const said = slots.refuses(each);
          expect([slots.taken('inFlight'), slots.queued]).toEqual(before);
          const taken = slots.take(each, never);
          expect('refusal' in taken ? taken : undefined).toEqual(said);
          if (said !== undefined) refusals += 1;
          expect(slots.queued).toBeLessThanOrEqual(5);
          if ('takenAt' in taken) places.push(taken);
          const [place] = places;
          if (ends && place !== undefined) release(places.shift() as Permit);
        }
      }),
    );
    expect(refusals).toBeGreaterThan(100);
  });

  it('who would be refused by a second limit costs nobody the place in the queue', async () => {
    // The queue of one back end is full with claims of a greedy client, that of its class with some of the newcomer's.
    const { slots, claim, fill } = createSlots({
      ...{ limit: 1, queueLength: 4, laneSharePercent: 50, reservedPercent: 50 },
    });
    const [lane, other] = [createBulkhead(), createBulkhead()];
    fill(claim(lane), 1);
    fill(claim(other, 'write'), 1);
    const outcomes: string[] = [];
    const wait = (each: PermitRequest) =>
      void Promise.resolve(slots.take(each, never)).then((taken) => {
        if ('refusal' in taken) outcomes.push(taken.refusal);
      });
    wait(claim(lane, 'write', 'greedy'));
    wait(claim(lane, 'write', 'greedy'));
    expect(slots.queued).toBe(2);
    expect(slots.refuses(claim(lane, 'read', 'greedy'))?.refusal).toBe('full');
    expect(slots.refuses(claim(lane, 'read', 'newcomer'))).toBeUndefined();
    wait(claim(other, 'read', 'newcomer'));
    wait(claim(other, 'read', 'newcomer'));
    // For the back end the greedy one would make room; for the reads nobody has more than the newcomer.
    expect(slots.refuses(claim(lane, 'read', 'newcomer'))?.refusal).toBe('full');
    wait(claim(lane, 'read', 'newcomer'));
    await vi.advanceTimersByTimeAsync(0);
    expect(outcomes).toEqual(['full']);
    expect(slots.queued).toBe(4);
  });
});
