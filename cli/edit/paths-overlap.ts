// Compares path patterns of gateway.config.yml.

/**
 * Returns true when some path matches both patterns. As in Express, matching is case-insensitive and ignores a trailing
 * slash.
 */
export function pathsOverlap(one: string, other: string): boolean {
  const [first, second] = [segmentsOf(one), segmentsOf(other)];
  for (let index = 0; ; index++) {
    const [a, b] = [first[index], second[index]];
    if (a === '*' || b === '*') return true;
    if (a === undefined || b === undefined) return a === b;
    if (!a.startsWith(':') && !b.startsWith(':') && a !== b) return false;
  }
}

function segmentsOf(pattern: string): string[] {
  return pattern
    .toLowerCase()
    .split('/')
    .filter((segment) => segment !== '');
}
