// The number of engines of a run, which is also the number of e2e files that run at the same time.

/** One when an engine is given (CONDUCTOR_URL), else TEST_ENGINES, 3 by default: most of a file's time is spent waiting. */
export function countEngines({ CONDUCTOR_URL, TEST_ENGINES = '3' }: NodeJS.ProcessEnv = process.env): number {
  return CONDUCTOR_URL === undefined ? Number(TEST_ENGINES) : 1;
}
