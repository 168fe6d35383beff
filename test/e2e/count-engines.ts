// How many engines a run has: so many files of the e2e suite run at a time.

/** One when an engine is given (CONDUCTOR_URL), else TEST_ENGINES, 2 by default: most of a file's time is spent waiting. */
export function countEngines({ CONDUCTOR_URL, TEST_ENGINES = '2' }: NodeJS.ProcessEnv = process.env): number {
  return CONDUCTOR_URL === undefined ? Number(TEST_ENGINES) : 1;
}
