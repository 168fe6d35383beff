// Tests of the CLI on a real engine: directly, and through the router with the ops client.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CliResult, runCli } from '../cli/run-cli.ts';
import { definitionNames, productDir } from '../lib/conductor/definitions/copy-of-product.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { type RandomDefinitions, randomDefinitions } from './random-definitions.ts';
import { engineOfRun } from './engine-of-run.ts';

const engineUrl = engineOfRun().url;

const linesOf = ({ stdout }: CliResult, state: string) => stdout.split('\n').filter((line) => line.startsWith(state));

let definitions: RandomDefinitions;
beforeEach(() => {
  definitions = randomDefinitions();
});
afterEach(() => definitions.dispose());

const count = () => definitionNames(definitions.dir).length;
/**
 * Number of copied definitions that are new to the engine; the others have the product's names and were registered
 * before this file ran.
 */
const fresh = 9;

const register = (...options: string[]) =>
  runCli(['register', '--engine', engineUrl, '--dir', definitions.dir, ...options]);

describe('service-router register', () => {
  it('adds new definitions, and then reports them as unchanged', async () => {
    const first = await register();
    expect(first).toMatchObject({ exitCode: 0, stderr: '' });
    expect(linesOf(first, 'added ')).toHaveLength(fresh);
    expect(first.stdout).toContain(`: ${fresh} to add, 0 to change, 0 to remove; ${count() - fresh} unchanged\n`);
    expect(first.stdout).toContain(`${engineUrl}: ${fresh} changes made; the engine matches the files`);
    const second = await register();
    expect(second).toMatchObject({ exitCode: 0, stderr: '' });
    expect(second.stdout).toBe(`${engineUrl}: no changes; ${count()} unchanged\n`);
  });

  it('updates a changed task type and a changed handler, and shows the differences', async () => {
    const { suffix } = definitions;
    await register();
    definitions.set(`workflows/tasks/movies_intake${suffix}.json`, ['responseTimeoutSeconds'], 23);
    definitions.set(`event-handlers/mdm-share${suffix}-{mis}.json`, ['active'], false);
    const changed = await register();
    expect(changed.exitCode).toBe(0);
    expect(linesOf(changed, 'changed')).toEqual([
      `changed task type movies_intake${suffix}`,
      `changed event handler mdm-share${suffix}-002`,
    ]);
    expect(changed.stdout).toContain('-  "responseTimeoutSeconds": 22,\n+  "responseTimeoutSeconds": 23,\n');
    expect((await register()).stdout).toContain(`no changes; ${count()} unchanged`);
  });

  it('refuses a changed workflow version with the difference (exit 2), and overwrites it with --force', async () => {
    await register();
    definitions.set(`workflows/moviesWF${definitions.suffix}.v1.json`, ['description'], 'Another.');
    const refused = await register();
    expect(refused.exitCode).toBe(2);
    expect(refused.stdout).toContain(
      '-  "description": "Passes one request to the movies prototype and returns its response.",\n+  "description": "Another.",\n',
    );
    expect(refused.stdout).toContain('nothing was written: a registered workflow version differs');
    expect((await register('--json')).json()).toMatchObject({ ok: false, outcome: 'refused' });
    const forced = await register('--force');
    expect(forced.exitCode).toBe(0);
    expect(linesOf(forced, 'changed')).toEqual([`changed workflow moviesWF${definitions.suffix} v1`]);
    expect((await register()).exitCode).toBe(0);
  });

  it('--dry-run writes nothing, and exits with 2 while there are changes to make, otherwise with 0', async () => {
    const planned = await register('--dry-run');
    expect(planned.exitCode).toBe(2);
    expect(planned.stdout).toContain(`: ${fresh} to add, 0 to change, 0 to remove; ${count() - fresh} unchanged`);
    expect((await register('--dry-run')).exitCode).toBe(2);
    await register();
    expect((await register('--dry-run')).exitCode).toBe(0);
  });
});

describe('service-router status', () => {
  interface StatusJson {
    ok: boolean;
    engine: { url: string; version: string };
    definitions: { name: string; state: string }[];
    workers: { taskType: string; domain?: string; waiting: number; workers: { workerId: string; stale: boolean }[] }[];
    eventsWithoutHandler: Record<string, number>;
  }
  const status = (...options: string[]) =>
    runCli(['status', '--engine', engineUrl, '--dir', definitions.dir, ...options]);

  it('shows that the product’s own definitions match the files, and `plan` finds no changes', async () => {
    const [shown, planned] = await Promise.all(
      ['status', 'plan'].map((command) => runCli([command, '--engine', engineUrl])),
    );
    const all = definitionNames(productDir).length;
    expect(planned?.stdout).toContain(`no changes; ${all} unchanged\n`);
    expect(shown?.stdout).toContain(`definitions  all ${all} match the files`);
    expect([shown?.exitCode, planned?.exitCode]).toEqual([0, 0]);
  });

  it('names unregistered definitions as missing (exit 2), and exits with 0 once they are registered', async () => {
    const before = await status();
    expect(before.exitCode).toBe(2);
    expect(before.stdout).toContain('definitions  do not match the files; `apply` updates them');
    expect(before.stdout).toContain(`  missing  workflow moviesWF${definitions.suffix} v1`);
    await register();
    const after = await status();
    expect(after).toMatchObject({ exitCode: 0, stderr: '' });
    expect(after.stdout).toContain(`engine       ${engineUrl}  Conductor 3.`);
    expect(after.stdout).toContain(`definitions  all ${count()} match the files`);
    expect(after.stdout).toMatch(/^executions {3}\d+ running, \d+ failed, \d+ timed out$/m);
  });

  it('names a definition that differs, shows the difference, and exits with 2', async () => {
    await register();
    definitions.set(`workflows/tasks/movies_intake${definitions.suffix}.json`, ['retryCount'], 2);
    const result = await status();
    expect(result.exitCode).toBe(2);
    expect(result.stdout).toContain(`  differs  task type movies_intake${definitions.suffix}\n    --- engine: `);
    expect(result.stdout).toMatch(/^ {4}- {2}"retryCount": 0,\n {4}\+ {2}"retryCount": 2,$/m);
  });

  it('lists a polling worker with its domain, and says that nobody polls another task type', async () => {
    const taskType = `movies_intake${definitions.suffix}`;
    await register();
    expect((await status()).stdout).toMatch(new RegExp(`^${taskType} +- +0 +nobody polls +-$`, 'm'));
    await fetch(`${engineUrl}/api/tasks/poll/batch/${taskType}?count=1&timeout=0&workerid=w-1&domain=d-1`);
    const { workers } = (await status('--json')).json<StatusJson>();
    expect(workers).toContainEqual({
      taskType,
      domain: 'd-1',
      waiting: 0,
      workers: [expect.objectContaining({ workerId: 'w-1', stale: false })],
    });
    expect((await status()).stdout).toMatch(new RegExp(`^${taskType} +d-1 +0 +\\d+ s ago +w-1$`, 'm'));
    await pollUntil('the poll to be older than a second', async () =>
      (await status('--stale-after', '1')).stdout.includes('(inactive)'),
    );
  });
});

describe('through the router', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await shareStack({ engineUrl, withWorkers: false });
  });
  afterAll(() => stack?.stop());
  const ops = { OPS_CLIENTID: 'ops', OPS_CLIENTSECRET: 'ops-secret' };

  it('register and status have the same results as directly on the engine', async () => {
    const through = ['--router', stack.url, '--dir', definitions.dir];
    const registered = await runCli(['register', ...through], ops);
    expect(registered).toMatchObject({ exitCode: 0, stderr: '' });
    expect(registered.stdout).toContain(`${stack.url}: ${fresh} changes made`);
    expect((await runCli(['status', ...through], ops)).stdout).toContain(`definitions  all ${count()} match the files`);
  });

  it('a client given as options is used instead of the configured client', async () => {
    const options = ['--client-id', 'ops', '--client-secret', 'ops-secret', '--dry-run'];
    const { exitCode } = await runCli(['register', '--router', stack.url, ...options], { OPS_CLIENTID: 'nobody' });
    expect(exitCode).toBe(0);
  });

  it('prints the reason from the router and exits with 1 for a client that may not register', async () => {
    const env = { OPS_CLIENTID: 'worker', OPS_CLIENTSECRET: 'worker-secret' };
    const { exitCode, stderr } = await runCli(['register', '--router', stack.url, '--dir', definitions.dir], env);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/responded with 403: /);
  });

  it('exits with 1 for a wrong secret, and does not repeat the secret', async () => {
    const env = { OPS_CLIENTID: 'ops', OPS_CLIENTSECRET: 'guessed' };
    const { exitCode, stderr } = await runCli(['status', '--router', stack.url], env);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/the router issued no token to client "ops": 401/);
    expect(stderr).not.toContain('guessed');
  });
});
