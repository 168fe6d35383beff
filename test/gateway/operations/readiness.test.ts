// Tests of the callback with which the router logs, at the first ready result of /health/ready, that it is ready.

import { describe, expect, it } from 'vitest';
import { ReadinessChecks, RouterReadiness } from '../../../gateway/operations/readiness.ts';

describe('RouterReadiness', () => {
  it('calls onFirstReady once, at the first ready result', async () => {
    let reasons = ['no worker polls movies_intake'];
    let told = 0;
    const checks = new ReadinessChecks();
    checks.add('workers', async () => reasons);
    const readiness = new RouterReadiness(
      () => [checks],
      () => (told += 1),
    );
    expect([(await readiness.ask()).ready, told]).toEqual([false, 0]);
    reasons = [];
    for (let asked = 0; asked < 2; asked++) expect([(await readiness.ask()).ready, told]).toEqual([true, 1]);
  });
});
