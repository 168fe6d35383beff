// `plan` and `apply` through the router when MDM's update queue is switched on: the handlers of the queue change, and the engine has a broker's events.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCli } from '../cli/run-cli.ts';
import { type FaultEngine, startFaultEngine } from '../faults/engine.ts';
import { requires } from '../run/requirements.ts';
import { call } from '../stack/client.ts';
import { preparedFolder } from '../stack/prepared-engine.ts';
import { type Stack, startStack } from '../stack/stack.ts';

// An engine of its own: with an active handler of a queue and without a broker, an engine listens to no event.
let engine: FaultEngine;
let stack: Stack;
beforeAll(async () => {
  engine = await startFaultEngine('sqlite', { templateDir: preparedFolder() });
  stack = await startStack({ engineUrl: engine.url, withWorkers: false });
}, 240_000);
afterAll(async () => {
  await stack?.stop();
  await engine?.stop();
}, 60_000);

const queueHandlers = async () =>
  (await call(`${engine.url}/api/event`))
    .json<{ name: string; event: string; active: boolean }[]>()
    .filter(({ event }) => event.startsWith('amqp_queue:'))
    .map(({ active }) => active);

it('shows and makes the change of the handlers through the router', requires('full'), async () => {
  expect(await queueHandlers()).toEqual([false, false]);
  const run = (...args: string[]) =>
    runCli([...args, '--router', stack.url], {
      OPS_CLIENTID: 'ops',
      OPS_CLIENTSECRET: 'ops-secret',
      MDM_UPDATEQUEUE: 'true',
    });
  const planned = await run('plan', '--no-diff');
  expect(planned).toMatchObject({ exitCode: 2, stderr: '' });
  expect(planned.stdout).toMatch(/: 0 to add, 2 to change, 0 to remove; /);
  expect(planned.stdout).not.toContain('running execution');
  expect(await run('apply', '--yes', '--no-diff')).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await queueHandlers()).toEqual([true, true]);
  expect((await run('plan')).exitCode).toBe(0);
});
