// Compares path patterns of gateway.config.yml.

/**
 * Returns true when some path matches both patterns. As in Express: upper and lower case are the same, and so are a path
 * and the same path with a slash at its end.
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
