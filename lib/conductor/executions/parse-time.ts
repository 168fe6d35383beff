// Parses points in time for filters of executions and events.

const format = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{1,2})(:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(Z|[+-]\d{2}:?\d{2})?)?$/i;

/**
 * Returns milliseconds since 1970; NaN for a string that is not a time. Accepts RFC 3339, even without the time of day,
 * the seconds or the zone, with a space instead of `T`, and with a one-digit hour: `2026-11-21 8:00`. Times without a
 * zone are in UTC.
 */
export function parseTime(text: string): number {
  const [, date = '', hour = '0', rest = ':00', zone = 'Z'] = format.exec(text) ?? [];
  const midnight = new Date(`${date}T00:00Z`);
  // `Date` accepts the 31st of every month: it converts 31 June to 1 July.
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(date)) return Number.NaN;
  return Date.parse(
    `${date}T${hour.padStart(2, '0')}${rest}${zone.toUpperCase().replace(/(\d{2}):?(\d{2})/, '$1:$2')}`,
  );
}
