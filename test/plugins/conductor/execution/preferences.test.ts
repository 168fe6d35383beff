// Tests of `Prefer` (RFC 7240): which preferences are applied, which are ignored, and which are forwarded to the back
// end.

import { fc } from '../../../run/properties.ts';
import { describe, expect, it } from 'vitest';
import { parsePreferences, waitPolicyOf } from '../../../../plugins/conductor/execution/preferences.ts';
import { byDepth } from '../../../run/depth.ts';

const none = { respondAsync: false, waitSeconds: undefined, others: undefined };
const parse = parsePreferences;

describe('parsePreferences', () => {
  it.each([
    [undefined, none],
    ['', none],
    ['respond-async', { ...none, respondAsync: true }],
    ['Respond-Async', { ...none, respondAsync: true }],
    ['respond-async=', { ...none, respondAsync: true }],
    ['respond-async=""', { ...none, respondAsync: true }],
    ['respond-async; x=y', { ...none, respondAsync: true }],
    ['respond-async, wait=10', { ...none, respondAsync: true, waitSeconds: 10 }],
    ['wait=10,respond-async', { ...none, respondAsync: true, waitSeconds: 10 }],
    ['wait = 10', { ...none, waitSeconds: 10 }],
    ['wait="10"', { ...none, waitSeconds: 10 }],
    ['WAIT="1\\0"', { ...none, waitSeconds: 10 }],
    ['wait=0', { ...none, waitSeconds: 0 }],
    ['wait= ; x, respond-async = ; x', { ...none, respondAsync: true }],
    // Of several values, only the first counts.
    ['wait=1, wait=2', { ...none, waitSeconds: 1 }],
    ['wait=x, wait=2', none],
    // Examples of the RFC (sections 2 and 4).
    ['foo; bar', { ...none, others: 'foo; bar' }],
    ['foo; bar=""', { ...none, others: 'foo; bar=""' }],
    ['respond-async, wait=100, handling=lenient', { respondAsync: true, waitSeconds: 100, others: 'handling=lenient' }],
    ['return=minimal; foo="some parameter"', { ...none, others: 'return=minimal; foo="some parameter"' }],
    // A comma inside a quoted string separates nothing.
    ['a="x, respond-async", wait=3', { ...none, waitSeconds: 3, others: 'a="x, respond-async"' }],
    ['a="x\\", respond-async"', { ...none, others: 'a="x\\", respond-async"' }],
    ['a="x, respond-async', { ...none, others: 'a="x, respond-async' }],
  ])('%j → %j', (field, expected) => {
    expect(parse(field)).toEqual(expected);
  });

  const token = fc
    .stringMatching(/^[a-z][a-z0-9-]{0,8}$/)
    .filter((name) => name !== 'wait' && name !== 'respond-async');
  const quoted = fc.stringMatching(/^[ !#-[\]-~]{0,12}$/).map((text) => `"${text}"`);
  const member = fc
    .tuple(token, fc.option(fc.oneof(token, quoted)), fc.array(token, { maxLength: 2 }))
    .map(([name, value, parameters]) => [value === null ? name : `${name}=${value}`, ...parameters].join('; '));

  it('`wait` and `respond-async` are found among any other preferences, which are left unchanged', () => {
    fc.assert(
      fc.property(fc.array(member), fc.array(member), fc.nat(), (before, after, seconds) => {
        const field = [...before, `wait=${seconds}`, ...after, 'respond-async'].join(' ,\t');
        const others = [...before, ...after].join(', ');
        expect(parse(field)).toEqual({
          respondAsync: true,
          waitSeconds: seconds,
          others: others === '' ? undefined : others,
        });
      }),
    );
  });

  it('no field makes the parser throw or return a negative wait', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ maxLength: 2_000 }), fc.stringMatching(/^[a;=", \\wit0-9-]{0,400}$/)),
        (field) => {
          const { waitSeconds } = parse(field);
          expect(waitSeconds === undefined || waitSeconds >= 0).toBe(true);
        },
      ),
      { numRuns: byDepth(200, 2_000) },
    );
  });

  it.each([
    '"'.repeat(1_000_000),
    'a="\\'.repeat(250_000),
    ','.repeat(1_000_000),
    'a'.repeat(1_000_000),
    `a=${' '.repeat(1_000_000)}x`,
    `a=${' '.repeat(1_000_000)}"`,
    `a${' '.repeat(1_000_000)}=${' '.repeat(1_000_000)}"`,
  ])('parses 1 MB of malformed input in linear time (%#)', (field) => {
    // A quadratic algorithm would take minutes.
    const startedAt = performance.now();
    parse(field);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});

describe('waitPolicyOf', () => {
  const limits = { responseDeadlineMs: 25_000, maxWaitMs: 60_000 };
  it.each([
    ['', { waitMs: 25_000, respondsAsync: false, applied: '' }],
    ['return=minimal', { waitMs: 25_000, respondsAsync: false, applied: '' }],
    ['respond-async', { waitMs: 0, respondsAsync: true, applied: 'respond-async' }],
    ['wait=5', { waitMs: 5_000, respondsAsync: true, applied: 'wait=5' }],
    ['wait=40, respond-async', { waitMs: 40_000, respondsAsync: true, applied: 'respond-async, wait=40' }],
    ['wait=61', { waitMs: 60_000, respondsAsync: true, applied: 'wait=60' }],
    [`wait=${'9'.repeat(400)}`, { waitMs: 60_000, respondsAsync: true, applied: 'wait=60' }],
  ])('%j → %j', (field, expected) => {
    expect(waitPolicyOf(parse(field), limits)).toEqual(expected);
  });
});
