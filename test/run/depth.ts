// The depth of a run, which determines loop counts, numbers of clients and time spans in all tests.

export type Depth = 'quick' | 'full';

/**
 * Returns `TEST_DEPTH`: `quick` (the default, `npm test`) or `full` (`npm run test:full`).
 * @throws Error for another value
 */
export function depthOfRun(env: NodeJS.ProcessEnv = process.env): Depth {
  const depth = env['TEST_DEPTH'] ?? 'quick';
  if (depth !== 'quick' && depth !== 'full') throw new Error(`TEST_DEPTH must be quick or full, but is "${depth}"`);
  return depth;
}

/** Returns the value for the depth of this run. */
export function byDepth<T>(quick: T, full: T): T {
  return depthOfRun() === 'full' ? full : quick;
}
