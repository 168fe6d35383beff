// The number of engines in a run, which is also the number of e2e files that run at the same time.

/**
 * Returns 1 when CONDUCTOR_URL names an engine, otherwise TEST_ENGINES. The default is 3: test files spend much of
 * their time waiting, so several can share a machine.
 */
export function countEngines({ CONDUCTOR_URL, TEST_ENGINES = '3' }: NodeJS.ProcessEnv = process.env): number {
  return CONDUCTOR_URL === undefined ? Number(TEST_ENGINES) : 1;
}
