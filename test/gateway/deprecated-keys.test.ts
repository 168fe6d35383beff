// Tests of a router that is configured with a deprecated key: it logs one warning at startup, and `${…}` in the gateway
// configuration may name the deprecated or the current key.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { pollUntil } from '../stack/poll-until.ts';
import { mapWith, type ReloadableRouter, startReloadableRouter } from './snapshots/reload/reloadable-router.ts';

let router: ReloadableRouter;

beforeAll(async () => {
  router = await startReloadableRouter({ LIMITS_REFUSALHOLDMS: '7' });
});
afterAll(() => router?.stop());

it('logs one warning that names the key to set instead', async () => {
  await pollUntil('the line `started`', () => router.program.output().includes('"msg":"started"'));
  const lines = router.program.output().split('\n');
  expect(lines.filter((line) => line.includes('deprecated'))).toEqual([
    expect.stringMatching(
      /"level":"warn".*environment: limits\.refusalHoldMs is deprecated: set limits\.rejectionDelay/,
    ),
  ]);
});

it('substitutes the deprecated and the current key in the gateway configuration', async () => {
  const quotas: (string | null)[] = [];
  for (const key of ['limits.refusalHoldMs', 'limits.rejectionDelayMs']) {
    router.write('map.yml', mapWith().replace('requests: 3', `requests: "\${${key}}"`));
    expect(await router.reload()).toBe('applied');
    quotas.push((await fetch(`${router.url}/counted`)).headers.get('ratelimit-policy'));
  }
  expect(quotas).toEqual([expect.stringContaining('q=7'), expect.stringContaining('q=7')]);
});
