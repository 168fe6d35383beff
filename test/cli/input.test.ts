// Tests of how the CLI parses durations, times, counts, states, names and ids, and shows time spans and progress.

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { formatSpan, parseCount, parseDuration, parseMoment } from '../../cli/input/duration.ts';
import { parseExecutionId, parseName } from '../../cli/input/names.ts';
import { parseStates, parseWords } from '../../cli/input/states.ts';
import { CommandError } from '../../cli/outcome.ts';
import { formatBar, startProgressBar } from '../../cli/output/progress-bar.ts';

describe('durations and times', () => {
  it.each([
    ['500ms', 500],
    ['90s', 90_000],
    ['15m', 900_000],
    ['1.5h', 5_400_000],
    ['30d', 2_592_000_000],
  ])('%s: %i ms', (text, ms) => expect(parseDuration(text, '--x')).toBe(ms));

  it.each(['', '10', 's', '-5s', '1w', '1e3s', '5 m'])('%j: refused with an example of a duration', (text) => {
    expect(() => parseDuration(text, '--older-than')).toThrow(
      /^--older-than must be a duration such as 500ms, 90s, 15m, 2h or 30d/,
    );
  });

  it.each(['36526d', '99999999999d', '9999999999999999ms'])('%s: refused, because it is over 100 years', (text) => {
    const message = `--since must be at most 36525d (100 years), not ${text}`;
    expect(() => parseDuration(text, '--since')).toThrow(new CommandError([message]));
    expect(() => parseMoment(text, '--since', 0)).toThrow(message);
    expect(() => parseDuration(`${'9'.repeat(400)}d`, '--since'), 'more than a double').toThrow('(100 years)');
  });

  it('100 years: the longest duration', () => expect(parseDuration('36525d', '--x')).toBe(3_155_760_000_000));

  it('a time: an RFC 3339 time, a date, or a duration before now', () => {
    const now = Date.parse('2026-11-21T12:00:00Z');
    expect(parseMoment('2026-11-21T08:00:00Z', '--since', now)).toBe(now - 4 * 3_600_000);
    expect(parseMoment('2026-11-21', '--since', now)).toBe(now - 12 * 3_600_000);
    expect(parseMoment('2h', '--since', now)).toBe(now - 2 * 3_600_000);
    for (const bad of ['yesterday', '2026-13-01', '2026-02-31', '2026-11-21 noon', '2026-11-21 25:00', '1700000000']) {
      expect(() => parseMoment(bad, '--since', now), bad).toThrow(/^--since must be a time/);
    }
  });

  it.each([
    ['2026-11-21T8:00', '2026-11-21T08:00Z'],
    ['2026-11-21 8:00', '2026-11-21T08:00Z'],
    ['2026-11-21 08:00:30.5', '2026-11-21T08:00:30.500Z'],
    ['2026-11-21 8:00 +0100', '2026-11-21T07:00Z'],
    ['2026-11-21t08:00:00-05:30', '2026-11-21T13:30Z'],
  ])('the time %s: %s, whatever the time zone of the machine', (text, expected) => {
    vi.stubEnv('TZ', 'Asia/Kolkata');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(parseMoment(text, '--since', 0)).toBe(Date.parse(expected));
  });

  it.each([
    [0, '0 ms'],
    [870.4, '870 ms'],
    [12_000, '12 s'],
    [12_340, '12.3 s'],
    [250_000, '4 min 10 s'],
    [3_600_000, '1 h'],
    [7_500_000, '2 h 5 min'],
    [90_000_000, '1 d 1 h'],
  ])('%i ms: %s', (ms, text) => expect(formatSpan(ms)).toBe(text));

  it('a count: a whole number of at least 1', () => {
    expect(parseCount('20', '--limit')).toBe(20);
    for (const bad of ['0', '1.5', 'ten', ''])
      expect(() => parseCount(bad, '--limit'), bad).toThrow(/^--limit must be/);
  });
});

describe('states and names', () => {
  it('states: several, in any spelling, and only those that are allowed', () => {
    expect(parseStates('failed, timed-out,TIMED_OUT')).toEqual(['FAILED', 'TIMED_OUT']);
    expect(parseStates('Timed Out,CANCELLED,paused')).toEqual(['TIMED_OUT', 'TERMINATED', 'PAUSED']);
    expect(parseWords('In-Progress', ['IN_PROGRESS'])).toEqual(['IN_PROGRESS']);
    expect(() => parseStates('broken')).toThrow(
      'broken is not one of running, completed, failed, timed-out, terminated, paused, cancelled',
    );
    expect(() => parseStates('running', ['COMPLETED', 'FAILED', 'TIMED_OUT', 'TERMINATED'])).toThrow(
      'running is not one of completed, failed, timed-out, terminated',
    );
  });

  it.each(["x' OR 1", 'a AND b', 'a,b', 'a(b)', 'a*', ''])('%j: not a valid name for a query to the engine', (text) => {
    expect(() => parseName(text, '--client')).toThrow(/^--client: .* is not a valid name: only letters, digits and /);
  });

  it('an execution id: returned unchanged; anything that could be another path: refused', () => {
    const id = '8d7639e9-acd5-4759-a909-d12318e8e65b';
    expect(parseExecutionId(id)).toBe(id);
    for (const bad of ['../metadata', 'a/b', 'short', '8d7639e9?x']) expect(() => parseExecutionId(bad), bad).toThrow();
  });
});

describe('progress bar', () => {
  it('shows how much of the total is done, and raises the total when more is done', () => {
    expect(formatBar('deleting', 1_200, 3_000)).toBe(`deleting  ${'█'.repeat(12)}${'░'.repeat(18)}  1200 of 3000`);
    expect(formatBar('deleting', 40, 30)).toBe(`deleting  ${'█'.repeat(30)}  40 of 40`);
    expect(formatBar('deleting', 0, 0)).toContain('0 of 0');
  });

  it('a stream that is not a terminal: nothing is written; a terminal: the bar is drawn, then removed', () => {
    const written: string[] = [];
    const stream = (isTTY: boolean) =>
      ({ isTTY, write: (text: string) => written.push(text) }) as unknown as NodeJS.WritableStream & { isTTY: boolean };
    const quiet = startProgressBar('x', 10, stream(false));
    quiet.advance(5);
    quiet.stop();
    expect(written).toEqual([]);
    const bar = startProgressBar('x', 10, stream(true));
    bar.advance(5);
    bar.stop();
    expect(written).toEqual([expect.stringContaining('5 of 10'), '\r\u001b[2K']);
  });
});
