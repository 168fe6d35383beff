// Formats durations, ages and rates on the pages for operators.

/** Formats milliseconds: `4.2 ms`, `38 ms`, `1.25 s`; a dash for undefined. */
export function formatMs(ms: number | undefined): string {
  if (ms === undefined) return '–';
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(2)} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}

/** Formats a rate per second: `0`, `0.02/s`, `3.4/s`, `120/s`. */
export function formatRate(perSecond: number): string {
  if (perSecond === 0) return '0';
  if (perSecond >= 10) return `${Math.round(perSecond)}/s`;
  return `${perSecond.toFixed(perSecond >= 1 ? 1 : 2)}/s`;
}

/** Formats an age in seconds: `12 s`, `3 min`, `5 h`, `2 d`. */
export function formatAge(seconds: number): string {
  const units: readonly (readonly [unit: string, length: number])[] = [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
  ];
  const [unit, length] = units.find(([, size]) => seconds >= 2 * size) ?? ['s', 1];
  return `${Math.floor(seconds / length)} ${unit}`;
}
