// Tests of `reconcile` on a real engine: a dry run finds a lost event, --yes repairs it once, and then nothing is
// missing.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCli } from '../cli/run-cli.ts';
import { type Caller, callerFor } from '../stack/client.ts';
import { engineApi } from '../stack/engine-api.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';
import { lostEventsOf } from './lost-events.ts';

let stack: Stack;
let demo: Caller;

beforeAll(async () => {
  // The router of this stack does not reconcile, so every repair is made by the command.
  stack = await shareStack({ engineUrl: engineOfRun().url });
  demo = await callerFor(stack.url);
  // A new engine subscribes to a handler's queue within a minute, and only while the handler is active.
  await patch('LIVE001');
  await untilEventsTaken(queue);
});
afterAll(() => stack?.stop());

interface Report {
  findings: { executionId: string; case: string; action: string; wouldBe?: string; started: string[] }[];
  unreconciled: Record<string, number>;
  dryRun: boolean;
}

/**
 * The look-back covers only executions of this file, because other files leave incomplete executions behind on
 * purpose.
 */
const args = () => ['reconcile', '--engine', engineOfRun().url, '--after', '1s', '--look-back', lookBack()];
const reconcile = (...options: string[]) => runCli([...args(), ...options], stack.routerEnv);
let lostAt = Date.now();
/** Returns the time since the event was lost, plus the time that a process takes to start on a busy machine. */
const lookBack = () => `${Math.ceil((Date.now() - lostAt) / 1_000) + 20}s`;
const mdmOf = (id: string) =>
  engineApi(engineOfRun().url).get<{ workflowId: string; status: string }[]>(
    `/workflow/mdmWF/correlated/${id}?includeClosed=true`,
  );

/** Sends a PATCH and returns its execution id. */
async function patch(cccid: string): Promise<string> {
  const answer = await demo('/adaptor/001/mock/colleges/001/persons/0319375', {
    method: 'PATCH',
    json: { cccid },
  });
  expect(answer.status).toBe(200);
  return String(answer.headers['x-execution-id']);
}

const { withoutHandler, untilEventsTaken } = lostEventsOf(engineOfRun());
const queue = 'college-adaptorWF:person_patched';

/** Sends a PATCH whose event the engine consumes without starting anything; returns the execution id. */
async function loseEvent(): Promise<string> {
  lostAt = Date.now();
  let executionId = '';
  await withoutHandler('mdm', async () => {
    executionId = await patch('LOST001');
    await untilEventsTaken(queue);
  });
  return executionId;
}

it(
  'a dry run reports a lost event and changes nothing, --yes repairs it, and a later run does not report it',
  { timeout: 150_000 },
  async () => {
    const lost = await loseEvent();
    const found = await pollUntil('the lost event to be reported', async () => {
      const { exitCode, json } = await reconcile('--json');
      const report = json<Report>();
      return report.findings.some(({ executionId }) => executionId === lost) && { exitCode, report };
    });
    expect(found.exitCode).toBe(2);
    expect(found.report).toMatchObject({ dryRun: true });
    expect(found.report.unreconciled['event_lost']).toBeGreaterThan(0);
    const finding = { executionId: lost, case: 'event_lost', action: 'none', wouldBe: 'start', started: [] };
    expect(found.report.findings).toContainEqual(finding);
    expect(await mdmOf(lost), 'a dry run starts nothing').toEqual([]);

    const text = await reconcile();
    expect(text.stdout).toMatch(new RegExp(`^${lost} +event_lost +start the missing follow-up executions +-$`, 'm'));
    expect(text.stdout).toContain('nothing was changed: confirmation needs a terminal; use --yes');
    expect((await reconcile('--dry-run')).stdout).toContain('nothing was changed (--dry-run)');
    expect(text.stdout).not.toMatch(/LOST001|0319375/);

    const refused = await runCli(args(), stack.routerEnv, { answer: 'n' });
    expect(refused).toMatchObject({ exitCode: 1, stdout: expect.stringContaining(lost) });
    expect(refused.stderr).toMatch(/^Repair \d+ executions? at \S+\? \[y\/N\] /);
    expect(await mdmOf(lost), 'answering no starts nothing').toEqual([]);

    const repaired = await reconcile('--yes', '--json');
    // The exit code is 2 only when another file has left an execution that cannot be repaired at once.
    const open = repaired
      .json<Report>()
      .findings.filter(({ action }) => !['started', 'retried', 'continued'].includes(action));
    expect(repaired.exitCode).toBe(open.length === 0 ? 0 : 2);
    const [started] = await mdmOf(lost);
    expect(repaired.json<Report>().findings).toContainEqual({
      executionId: lost,
      case: 'event_lost',
      action: 'started',
      started: [started?.workflowId],
    });
    await pollUntil('mdmWF to complete', async () => (await mdmOf(lost))[0]?.status === 'COMPLETED');

    const again = (await reconcile('--yes', '--json')).json<Report>();
    expect(again.findings.filter(({ executionId }) => executionId === lost)).toEqual([]);
    expect(await mdmOf(lost), 'mdmWF is started once').toHaveLength(1);
  },
);

it('exits with 0 when nothing is missing', async () => {
  lostAt = Date.now();
  const { exitCode, stdout } = await runCli(
    ['reconcile', '--engine', engineOfRun().url, '--after', '600d', '--look-back', '1s'],
    stack.routerEnv,
  );
  expect([exitCode, stdout]).toMatchObject([0, expect.stringMatching(/: 0 executions found; /)]);
});

it('exits with 1 for an unreachable engine; through the router, a dry run works and --yes is refused', async () => {
  const away = await runCli(['reconcile', '--engine', 'http://127.0.0.1:1']);
  expect([away.exitCode, away.stderr]).toMatchObject([1, expect.stringContaining('does not respond')]);
  const ops = { OPS_CLIENTID: 'ops', OPS_CLIENTSECRET: 'ops-secret' };
  const through = ['reconcile', '--router', stack.url, '--after', '600d', '--look-back', '1s'];
  expect((await runCli(through, ops)).exitCode).toBe(0);
  const refused = await runCli([...through, '--yes'], ops);
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    'nothing was changed: the router does not forward repairs; call the engine directly with --engine <url>\n',
  ]);
});
