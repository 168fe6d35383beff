// Tests of how far back `reconcile` may look: not to executions whose follow-ups were pruned.

import { expect, it } from 'vitest';
import { runCli } from './run-cli.ts';

const away = 'http://127.0.0.1:1';
const reconcile = (lookBack: string, env: Record<string, string>) =>
  runCli(['reconcile', '--yes', '--engine', away, '--look-back', lookBack], env);

it.each([
  ['completedDays', '7d', { PRUNE_COMPLETEDDAYS: '3' }],
  ['failedDays', '3d', { PRUNE_FAILEDDAYS: '3' }],
  [
    'completedDays, even if a route keeps its executions for longer',
    '7d',
    { PRUNE_COMPLETEDDAYS: '3', 'prune.adaptor.days': '30' },
  ],
])('refuses a look-back that exceeds prune.%s, before it calls the engine', async (_name, lookBack, env) => {
  const { exitCode, stderr } = await reconcile(lookBack, env);
  expect(exitCode).toBe(1);
  expect(stderr).toBe(
    `--look-back ${lookBack}: must be shorter than the 3 d for which the follow-up executions of PATCHes are kept (prune.completedDays, prune.failedDays); otherwise, MDM would be notified again of PATCHes whose follow-up executions were pruned\n`,
  );
});

it('accepts a shorter look-back, and the time that --after allows does not count', async () => {
  const { stderr } = await runCli(['reconcile', '--engine', away, '--look-back', '2d', '--after', '600d'], {
    PRUNE_COMPLETEDDAYS: '3',
  });
  expect(stderr).toContain(`${away} does not respond`);
});
