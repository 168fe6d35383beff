// Tests of caching and renewing the workers' access token.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AccessToken, type IssuedToken } from '../../../workers/sdk/access-token.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Returns an issuer of the tokens `t1`, `t2`, … and the number of tokens that it has issued. */
function countingIssuer(more: (token: string) => Partial<IssuedToken> = () => ({ expires_in: 100 })) {
  let count = 0;
  const issue = async (): Promise<IssuedToken> => {
    count += 1;
    return { token: `t${count}`, ...more(`t${count}`) };
  };
  return { issue, count: () => count };
}

const jwt = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;

describe('AccessToken', () => {
  test('requests one token for many concurrent calls', async () => {
    const { issue, count } = countingIssuer();
    const token = new AccessToken(issue);
    expect(await Promise.all([token.get(), token.get(), token.get()])).toEqual(['t1', 't1', 't1']);
    expect(count()).toBe(1);
  });

  test('renews in the background late in the lifetime and returns the old token meanwhile', async () => {
    const { issue } = countingIssuer();
    const token = new AccessToken(issue);
    await token.get();
    vi.advanceTimersByTime(79_000);
    expect(await token.get()).toBe('t1');
    vi.advanceTimersByTime(2_000);
    expect(await token.get()).toBe('t1');
    await vi.runAllTimersAsync();
    expect(await token.get()).toBe('t2');
  });

  test('when renewal fails, returns the old token until it expires', async () => {
    let fails = false;
    const { issue } = countingIssuer();
    const token = new AccessToken(() => (fails ? Promise.reject(new Error('away')) : issue()));
    await token.get();
    fails = true;
    vi.advanceTimersByTime(99_000);
    expect(await token.get()).toBe('t1');
    vi.advanceTimersByTime(2_000);
    await expect(token.get()).rejects.toThrow('away');
    fails = false;
    expect(await token.get()).toBe('t2');
  });

  test('requests a new token after a rejection; rejecting an older token has no effect', async () => {
    const { issue, count } = countingIssuer();
    const token = new AccessToken(issue);
    token.invalidate(await token.get());
    expect(await token.get()).toBe('t2');
    token.invalidate('t1');
    expect(await token.get()).toBe('t2');
    expect(count()).toBe(2);
  });

  test('without expires_in, uses exp and iat of the JWT, independently of the local clock', async () => {
    const issued = [jwt({ iat: 1_000, exp: 1_100 }), jwt({ iat: 1_000, exp: 1_100, second: true })];
    const token = new AccessToken(async () => ({ token: issued.shift() ?? '' }));
    const first = await token.get();
    vi.advanceTimersByTime(70_000);
    expect(await token.get()).toBe(first);
    vi.advanceTimersByTime(31_000);
    expect(await token.get()).not.toBe(first);
  });

  test.each(['opaque', 'a.b.c', jwt([]), `e30.${Buffer.from('null').toString('base64url')}.x`])(
    'token %s without a readable lifetime → kept for a minute',
    async (value) => {
      let count = 0;
      const token = new AccessToken(async () => ({ token: `${value}${++count > 1 ? count : ''}` }));
      expect(await token.get()).toBe(value);
      vi.advanceTimersByTime(40_000);
      expect(await token.get()).toBe(value);
      vi.advanceTimersByTime(30_000);
      await token.get();
      expect(count).toBe(2);
    },
  );
});
