// When a router says in its log that it is ready: with the first answer of /health/ready that says so.

import { describe, expect, it } from 'vitest';
import { ReadinessChecks, RouterReadiness } from '../../../gateway/operations/readiness.ts';

describe('RouterReadiness', () => {
  it('tells of the first answer that is ready, once, and of none before', async () => {
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
