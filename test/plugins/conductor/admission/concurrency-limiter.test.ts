// Tests of ConcurrencyLimiter: the limits of both stages, the share of a back end, and the fairness and length of the
// queue.

import { fc } from '../../../run/properties.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type PermitRequest,
  createBulkhead,
  type Bulkhead,
  type RequestClass,
} from '../../../../plugins/conductor/admission/bulkhead.ts';
import {
  type Permit,
  type Rejected,
  ConcurrencyLimiter,
} from '../../../../plugins/conductor/admission/concurrency-limiter.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const defaults = {
  waiting: 100,
  limit: 10,
  queueLength: 10,
  queueMs: 1_000,
  bulkheadSharePercent: 100,
};
const never = new AbortController().signal;

function createLimiter(given: Partial<typeof defaults> = {}) {
  const options = { ...defaults, ...given };
  const limiter = new ConcurrencyLimiter({
    ...options,
    limits: { waiting: () => options.waiting, inFlight: () => options.limit },
    get bulkheadSharePercent() {
      return options.bulkheadSharePercent;
    },
  });
  const claim = (bulkhead: Bulkhead, requestClass: RequestClass = 'read', client = 'one'): PermitRequest => ({
    bulkhead: bulkhead,
    requestClass,
    client,
  });
  /** Acquires the permits that are free now, at most `most`. */
  const fill = (each: PermitRequest, most: number): Permit[] => {
    const permits: Permit[] = [];
    for (; permits.length < most;) {
      const gone = new AbortController();
      const permit = limiter.acquire(each, gone.signal);
      gone.abort();
      if (!('grantedAt' in permit)) break;
      permits.push(permit);
    }
    return permits;
  };
  /** Acquires a permit that must be free. */
  const take = (each: PermitRequest): Permit => {
    const permit = limiter.acquire(each, never);
    if ('grantedAt' in permit) return permit;
    throw new Error('no permit is free');
  };
  /** Holds a permit for some time, then releases it. */
  const release = (permit: Permit, heldMs = 5) => {
    vi.advanceTimersByTime(heldMs);
    limiter.release(permit, true);
  };
  return { limiter, options, claim, fill, take, release };
}

describe('executions in flight', () => {
  it('limits a back end to its share and leaves the rest to others', () => {
    const { claim, fill } = createLimiter({ bulkheadSharePercent: 60 });
    expect(fill(claim(createBulkhead()), 20)).toHaveLength(6);
    expect(fill(claim(createBulkhead()), 20)).toHaveLength(4);
  });

  it('serves requests when the limit is one', () => {
    const { claim, fill } = createLimiter({ limit: 1, bulkheadSharePercent: 50 });
    expect(fill(claim(createBulkhead()), 5)).toHaveLength(1);
  });
});

describe('executions that wait for a worker', () => {
  it('does not count executions that a worker has taken', () => {
    const { limiter, claim, fill } = createLimiter({ waiting: 3 });
    const bulkhead = createBulkhead();
    const permits = fill(claim(bulkhead), 20);
    expect(permits).toHaveLength(3);
    for (const permit of permits) limiter.handedOut(permit);
    expect(fill(claim(bulkhead), 20)).toHaveLength(3);
    expect([limiter.inUse('waiting'), limiter.inUse('inFlight')]).toEqual([3, 6]);
  });

  it('admits the first queued request when a worker takes a task', async () => {
    const { limiter, claim, take } = createLimiter({ waiting: 1 });
    const permit = take(claim(createBulkhead()));
    const waiting = limiter.acquire(claim(createBulkhead()), never);
    expect(waiting).toBeInstanceOf(Promise);
    limiter.handedOut(permit);
    expect(await waiting).toMatchObject({ waiting: true });
  });

  it('counts a permit once when it is handed out twice and released', () => {
    const { limiter, claim, take } = createLimiter();
    const permit = take(claim(createBulkhead()));
    limiter.handedOut(permit);
    limiter.handedOut(permit);
    limiter.release(permit, true);
    expect([limiter.inUse('waiting'), limiter.inUse('inFlight')]).toEqual([0, 0]);
  });

  it('limits a back end with busy workers to its share of the waiting stage', () => {
    const { claim, fill } = createLimiter({ waiting: 4, bulkheadSharePercent: 50 });
    expect(fill(claim(createBulkhead()), 20)).toHaveLength(2);
    expect(fill(claim(createBulkhead()), 20)).toHaveLength(2);
  });
});

describe('the queue', () => {
  it('is served in the order of arrival', async () => {
    const { limiter, claim, take, release } = createLimiter({ limit: 1 });
    const bulkhead = createBulkhead();
    let permit = take(claim(bulkhead));
    const waits = [1, 2, 3].map(() => limiter.acquire(claim(bulkhead), never));
    for (const wait of waits) {
      release(permit);
      permit = (await wait) as Permit;
      expect(permit.grantedAt).toBe(performance.now());
    }
    expect(limiter.queued).toBe(0);
  });

  it('lets requests of other back ends overtake those of a back end that has used up its share', () => {
    const { limiter, claim, fill } = createLimiter({ limit: 4, bulkheadSharePercent: 50 });
    const [slow, quick] = [createBulkhead(), createBulkhead()];
    fill(claim(slow), 2);
    expect(limiter.acquire(claim(slow), never)).toBeInstanceOf(Promise);
    expect(limiter.acquire(claim(quick), never)).toMatchObject({ waiting: true });
  });

  it('rejects at once when it is full', () => {
    const { limiter, claim } = createLimiter({ limit: 1, queueLength: 2 });
    const bulkhead = createBulkhead();
    for (let index = 0; index < 3; index++) void limiter.acquire(claim(bulkhead), never);
    expect(limiter.queued).toBe(2);
    expect(limiter.acquire(claim(bulkhead), never)).toMatchObject({ rejection: 'full' });
  });

  it('rejects at once, with the expected wait, when that wait exceeds the maximum', () => {
    const { limiter, claim, take, release } = createLimiter({ limit: 1 });
    const bulkhead = createBulkhead();
    release(take(claim(bulkhead)), 700);
    take(claim(bulkhead));
    expect(limiter.acquire(claim(bulkhead), never)).toBeInstanceOf(Promise);
    const refused = limiter.acquire(claim(bulkhead), never) as Rejected;
    expect(refused).toMatchObject({ rejection: 'too-long' });
    expect(refused.retryAfterMs).toBeGreaterThanOrEqual(1_400);
  });

  it('rejects at once when the expected wait exceeds the longest wait of the request', () => {
    const { limiter, claim, take, release } = createLimiter({ limit: 1 });
    const bulkhead = createBulkhead();
    release(take(claim(bulkhead)), 700);
    take(claim(bulkhead));
    expect(limiter.acquire(claim(bulkhead), never, 699)).toMatchObject({ rejection: 'too-long' });
    expect(limiter.acquire(claim(bulkhead), never, 701)).toBeInstanceOf(Promise);
  });

  it('rejects new requests at once during a standstill', () => {
    const { limiter, claim, take } = createLimiter({ limit: 1 });
    const bulkhead = createBulkhead();
    take(claim(bulkhead));
    expect(limiter.acquire(claim(bulkhead), never)).toBeInstanceOf(Promise);
    vi.advanceTimersByTime(1_001);
    expect(limiter.acquire(claim(bulkhead), never)).toMatchObject({ rejection: 'too-long' });
  });

  it('counts a past standstill once, not for each permit that was held during it', () => {
    const { limiter, claim, take, release } = createLimiter({ limit: 10, queueLength: 100 });
    const bulkhead = createBulkhead();
    for (let times = 0; times < 200; times++) release(take(claim(bulkhead)), 20);
    const sat = Array.from({ length: 10 }, () => take(claim(bulkhead)));
    vi.advanceTimersByTime(500);
    for (const permit of sat) limiter.release(permit, true);
    for (const _ of sat) take(claim(bulkhead));
    // Expected wait of the last request: 40 × 20 ms, divided by 10 permits.
    for (let ahead = 0; ahead < 40; ahead++) expect(limiter.acquire(claim(bulkhead), never)).toBeInstanceOf(Promise);
  });

  it('rejects a request whose wait has expired, and frees its place in the queue', async () => {
    const { limiter, claim, take } = createLimiter({ limit: 1 });
    const bulkhead = createBulkhead();
    take(claim(bulkhead));
    const waiting = limiter.acquire(claim(bulkhead), never);
    vi.advanceTimersByTime(1_000);
    expect(await waiting).toMatchObject({ rejection: 'expired' });
    expect([limiter.queued, bulkhead.queued.total]).toEqual([0, 0]);
  });

  it('removes the request of a client that disconnects', async () => {
    const { limiter, claim, take, release } = createLimiter({ limit: 1 });
    const bulkhead = createBulkhead();
    const client = new AbortController();
    const permit = take(claim(bulkhead));
    const waiting = limiter.acquire(claim(bulkhead), client.signal);
    client.abort();
    expect(await waiting).toMatchObject({ rejection: 'gone' });
    expect([limiter.queued, bulkhead.queued.total]).toEqual([0, 0]);
    release(permit);
    expect(limiter.inUse('inFlight')).toBe(0);
  });

  it('keeps granted permits when the limit falls, and grants no new ones above it', () => {
    const { limiter, options, claim, fill, release } = createLimiter();
    const bulkhead = createBulkhead();
    const permits = fill(claim(bulkhead), 10);
    options.limit = 2;
    void limiter.acquire(claim(bulkhead), never);
    for (const permit of permits.slice(0, 8)) release(permit);
    expect([limiter.inUse('inFlight'), limiter.queued]).toEqual([2, 1]);
    release(permits[8] as Permit);
    expect([limiter.inUse('inFlight'), limiter.queued]).toEqual([2, 0]);
  });

  it('serves queued requests first when the limit rises', async () => {
    const { limiter, options, claim, take } = createLimiter({ limit: 1 });
    const bulkhead = createBulkhead();
    take(claim(bulkhead));
    const first = limiter.acquire(claim(bulkhead), never);
    options.limit = 2;
    expect(limiter.acquire(claim(bulkhead), never)).toBeInstanceOf(Promise);
    expect(await first).toMatchObject({ waiting: true });
  });

  it('serves queued requests when the share of a back end rises', async () => {
    const bulkhead = createBulkhead();
    const { limiter, options, claim, fill } = createLimiter({ limit: 4, bulkheadSharePercent: 50 });
    fill(claim(bulkhead), 2);
    const queued = limiter.acquire(claim(bulkhead), never);
    options.bulkheadSharePercent = 100;
    limiter.acquire(claim(createBulkhead()), never);
    expect(limiter.queued).toBe(0);
    expect(await queued).toMatchObject({ waiting: true });
  });
});

describe('a client with many requests', () => {
  const of = (bulkhead: Bulkhead, client: string): PermitRequest => ({
    bulkhead: bulkhead,
    requestClass: 'read',
    client,
  });

  const createQueue = (queueLength: number, bulkheadSharePercent = 100) => {
    const created = createLimiter({ limit: 100 / bulkheadSharePercent, queueLength, bulkheadSharePercent });
    /** Queues as many requests as the queue admits. */
    const queue = (bulkhead: Bulkhead, client: string) => {
      while (created.limiter.acquire(of(bulkhead, client), never) instanceof Promise);
      return bulkhead.queued.of(`read ${client}`);
    };
    return { ...created, queue };
  };

  it('leaves the next permit to a client that holds none', async () => {
    const { limiter, fill, release } = createLimiter({ limit: 2 });
    const bulkhead = createBulkhead();
    const [permit] = fill(of(bulkhead, 'greedy'), 2);
    const order: string[] = [];
    for (const client of ['greedy', 'greedy', 'modest', 'greedy']) {
      void Promise.resolve(limiter.acquire(of(bulkhead, client), never)).then(() => order.push(client));
    }
    release(permit as Permit);
    await vi.waitFor(() => expect(order).toEqual(['modest']), { timeout: 120_000 });
  });

  it('may queue four requests for each slot left free: a single client 4/5 of the queue, two clients 4/9 each', () => {
    const { limiter, fill, queue } = createQueue(45);
    const bulkhead = createBulkhead();
    fill(of(bulkhead, 'greedy'), 1);
    expect(queue(bulkhead, 'greedy')).toBe(36);
    expect(limiter.rejectionOf(of(bulkhead, 'greedy'))).toMatchObject({ rejection: 'full' });
    expect(queue(bulkhead, 'other')).toBe(8);
    expect(limiter.acquire(of(bulkhead, 'modest'), never)).toBeInstanceOf(Promise);
    const both = createQueue(45);
    const shared = createBulkhead();
    both.fill(of(shared, 'one'), 1);
    for (let times = 0; times < 45; times++) {
      for (const client of ['one', 'other']) void both.limiter.acquire(of(shared, client), never);
    }
    expect([shared.queued.of('read one'), shared.queued.of('read other')]).toEqual([20, 20]);
  });

  it('leaves room both in the queue share of its back end and in the rest of the queue', () => {
    const { fill, limiter, queue } = createQueue(20, 50);
    const [one, other] = [createBulkhead(), createBulkhead()];
    fill(of(one, 'greedy'), 1);
    fill(of(other, 'greedy'), 1);
    for (const bulkhead of [one, other]) {
      expect(queue(bulkhead, 'greedy')).toBe(8);
      expect(limiter.acquire(of(bulkhead, 'modest'), never)).toBeInstanceOf(Promise);
    }
  });

  it('gets permits for its reads and its writes alternately', async () => {
    const { limiter, claim, fill, release } = createLimiter({ limit: 2 });
    const bulkhead = createBulkhead();
    const [permit] = fill(claim(bulkhead, 'write'), 2);
    const order: string[] = [];
    for (const each of ['write', 'write', 'read'] as const) {
      void Promise.resolve(limiter.acquire(claim(bulkhead, each), never)).then(() => order.push(each));
    }
    release(permit as Permit);
    await vi.waitFor(() => expect(order).toEqual(['read']), { timeout: 120_000 });
  });

  it('does not lengthen the expected wait of other clients', () => {
    const { limiter, take, release } = createLimiter({ limit: 1, queueMs: 1_000 });
    const bulkhead = createBulkhead();
    release(take(of(bulkhead, 'greedy')), 300);
    take(of(bulkhead, 'greedy'));
    for (let index = 0; index < 3; index++) void limiter.acquire(of(bulkhead, 'greedy'), never);
    expect(limiter.acquire(of(bulkhead, 'greedy'), never)).toMatchObject({ rejection: 'too-long' });
    expect(limiter.acquire(of(bulkhead, 'modest'), never)).toBeInstanceOf(Promise);
  });
});

describe('rejectionOf', () => {
  it('returns the rejection that acquire would return, and changes nothing', () => {
    const clients = ['one', 'two', 'three'];
    const step = fc.record({
      bulkhead: fc.nat(1),
      requestClass: fc.constantFrom<RequestClass>('read', 'write'),
      client: fc.constantFrom(...clients),
      ends: fc.nat(3).map((one) => one === 0),
      ms: fc.nat(100),
    });
    let refusals = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 60 }), (steps) => {
        const { limiter, claim, release } = createLimiter({
          ...{ limit: 3, queueLength: 5, bulkheadSharePercent: 60 },
        });
        const bulkheads = [createBulkhead(), createBulkhead()];
        const permits: Permit[] = [];
        for (const { bulkhead, requestClass, client, ends, ms } of steps) {
          vi.advanceTimersByTime(ms);
          const each = claim(bulkheads[bulkhead] as Bulkhead, requestClass, client);
          const before = [limiter.inUse('inFlight'), limiter.queued];
          const said = limiter.rejectionOf(each);
          expect([limiter.inUse('inFlight'), limiter.queued]).toEqual(before);
          const taken = limiter.acquire(each, never);
          expect('rejection' in taken ? taken : undefined).toEqual(said);
          if (said !== undefined) refusals += 1;
          expect(limiter.queued).toBeLessThanOrEqual(5);
          if ('grantedAt' in taken) permits.push(taken);
          const [permit] = permits;
          if (ends && permit !== undefined) release(permits.shift() as Permit);
        }
      }),
    );
    expect(refusals).toBeGreaterThan(100);
  });
});
