// Parses durations, moments and counts in options, and formats durations.

import { parseTime } from '#lib/conductor/executions/parse-time.ts';
import { CommandError } from '../outcome.ts';

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Longest duration, 100 years: a longer one can lead to a time that `Date` and the engine cannot express. */
const longestDays = 36_525;

/**
 * Returns a duration such as `500ms`, `90s`, `15m`, `2h` or `30d` in milliseconds.
 * @param option name of the option, for the message
 * @throws CommandError for any other text, and for more than 100 years
 */
export function parseDuration(text: string, option: string): number {
  const [, amount = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|[smhd])$/.exec(text) ?? [];
  const factor = units[unit];
  if (factor === undefined)
    throw new CommandError([`${option} must be a duration such as 500ms, 90s, 15m, 2h or 30d, not ${text}`]);
  const duration = Number(amount) * factor;
  if (duration > longestDays * 86_400_000)
    throw new CommandError([`${option} must be at most ${longestDays}d (100 years), not ${text}`]);
  return duration;
}

/**
 * Returns a moment in milliseconds since 1970. Takes a time (`2026-11-21`, `2026-11-21T08:00:00Z`) or an age (`2h`).
 * @throws CommandError for any other text
 */
export function parseMoment(text: string, option: string, now: number): number {
  const time = parseTime(text);
  if (!Number.isNaN(time)) return time;
  if (/^[\d.]+(?:ms|[smhd])$/.test(text)) return now - parseDuration(text, option);
  throw new CommandError([
    `${option} must be a time such as 2026-11-21T08:00Z (UTC if no zone is given) or an age such as 2h, not ${text}`,
  ]);
}

/** Returns a whole number of at least `least`. @throws CommandError for any other text */
export function parseCount(text: string, option: string, least = 1): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least) {
    throw new CommandError([`${option} must be a whole number of at least ${least}, not ${text}`]);
  }
  return value;
}

/** Formats milliseconds: `870 ms`, `12.3 s`, `4 min 10 s`, `2 h 5 min`, `3 d 4 h`. */
export function formatSpan(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1).replace(/\.0$/, '')} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return pair(seconds, 60, ['min', 's']);
  if (seconds < 86_400) return pair(Math.round(seconds / 60), 60, ['h', 'min']);
  return pair(Math.round(seconds / 3_600), 24, ['d', 'h']);
}

function pair(value: number, base: number, [large, small]: readonly [string, string]): string {
  const rest = value % base;
  return `${Math.floor(value / base)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
}
