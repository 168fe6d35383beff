// Tests of the commands `prune` and `events` on separate engines, on SQLite and on PostgreSQL: batches, a kill in the
// middle, and the daily prune job.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EngineDatabase } from '#lib/conductor/database/database.ts';
import { openEngineDatabase } from '#lib/conductor/database/engine-database.ts';
import { runCli } from '../cli/run-cli.ts';
import { type EngineKind, type FaultEngine, startFaultEngine } from '../faults/engine.ts';
import { byDepth } from '../run/depth.ts';
import { requires } from '../run/requirements.ts';
import { call, type Caller, callerFor } from '../stack/client.ts';
import { engineApi } from '../stack/engine-api.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { preparedFolder } from '../stack/prepared-engine.ts';
import { startProgram } from '../stack/program.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { compileCache } from '../stack/compile-cache.ts';

const main = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
/** An execution whose task no worker takes. */
const unpolled = { name: 'moviesWF', version: 1, input: {}, taskToDomain: { '*': 'nobody-polls' } };
/** Allows pruning executions that have just ended. */
const young = { RECONCILER_LOOKBACKSECONDS: '0', RECONCILER_AFTERMS: '1' };
const { PGHOST = '127.0.0.1', PGPORT = '5432', PGUSER = 'postgres', PGPASSWORD = '' } = process.env;

const prunes = (kind: EngineKind) => {
  let engine: FaultEngine;
  let stack: Stack;
  let demo: Caller;
  let databaseUrl: string;
  let database: EngineDatabase;

  beforeAll(async () => {
    engine = await startFaultEngine(kind, { templateDir: preparedFolder() });
    const name = engine.databaseUrl?.split('/').at(-1);
    databaseUrl =
      kind === 'sqlite'
        ? `sqlite:${engine.databaseFile}`
        : `postgresql://${PGUSER}:${PGPASSWORD}@${PGHOST}:${PGPORT}/${name}`;
    database = await openEngineDatabase(databaseUrl);
    stack = await shareStack({ engineUrl: engine.url, router: { ADAPTOR_777_URL: 'http://127.0.0.1:9' } });
    demo = await callerFor(stack.url);
  });
  afterAll(async () => {
    await database?.close();
    await stack?.stop();
    await engine?.stop();
  });

  const args = () => ['prune', '--engine', engine.url, '--database', databaseUrl];
  const prune = (...options: string[]) => runCli([...args(), ...options], young);
  const pruneOnTerminal = (answer: string, ...options: string[]) => runCli([...args(), ...options], young, { answer });
  interface Report {
    executions: number;
    events: number;
    kept: number;
    orphans: number;
    rules: { executions: number }[];
  }
  const count = async (query = '') =>
    (await call(`${engine.url}/api/workflow/search?start=0&size=1${query}`)).json<{ totalHits: number }>().totalHits;
  const rows = async () =>
    (await call(`${engine.url}/api/workflow/search?start=0&size=20`)).json<{ results: object[] }>().results;
  const patch = (person: string, cccid = 'PRUNE01') =>
    demo(`/adaptor/001/mock/colleges/001/persons/${person}`, {
      method: 'PATCH',
      json: { cccid },
    });
  async function movies(times: number): Promise<void> {
    for (let at = 0; at < times; at += 10) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => demo('/movies/Metropolis')));
      expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    }
  }
  async function sql(statement: string): Promise<void> {
    if (kind === 'sqlite') {
      const direct = new DatabaseSync(engine.databaseFile, { timeout: 5_000 });
      direct.exec(statement);
      direct.close();
      return;
    }
    const direct = postgres(databaseUrl, { max: 1 });
    await direct.unsafe(statement);
    await direct.end();
  }
  const processedEvents = async () =>
    (await database.readEvents({ limit: 1_000 })).filter(({ state }) => state !== 'IN_PROGRESS').length;
  /** Waits until the handlers have processed this many events, and have thus started the executions for them. */
  const untilProcessed = (least: number) =>
    pollUntil('the handlers to process the events', async () => (await processedEvents()) >= least, {
      everyMs: 250,
    });
  /** Waits until all ended executions are older than the age limit of these tests. */
  const untilOld = () => {
    const since = performance.now();
    return pollUntil('0.02 s to pass', () => performance.now() - since > 20, { everyMs: 5 });
  };
  const untilIdle = async () => {
    await pollUntil(
      'no execution to be running',
      async () => (await count(`&query=${encodeURIComponent('status = RUNNING')}`)) === 0,
      { everyMs: 250 },
    );
    await untilOld();
  };

  it('`events` shows what the handler started, what it skipped and why, without personal values', async () => {
    const applied = String((await patch('0318204')).headers['x-execution-id']);
    const refused = String((await patch('nobody')).headers['x-execution-id']);
    await untilProcessed(3);
    const events = (...options: string[]) => runCli(['events', '--database', databaseUrl, ...options]);
    const { events: all } = (await events('--handler', 'mdm', '--json')).json<{ events: Record<string, unknown>[] }>();
    const skipped = all.find(({ state }) => state === 'SKIPPED');
    expect(skipped).toMatchObject({
      source: refused,
      method: 'PATCH',
      responseStatus: 404,
      answered: 404,
      condition: expect.stringContaining('statusCodeValue'),
    });
    const started = String(all.find(({ state }) => state === 'COMPLETED')?.['started']);
    const mdm = (await call(`${engine.url}/api/workflow/${started}`)).json<{
      workflowName: string;
      correlationId: string;
    }>();
    expect(mdm).toMatchObject({ workflowName: 'mdmWF', correlationId: applied });
    const shown = await events('--state', 'skipped');
    expect(shown.stdout).toContain(`PATCH with status 404 in execution ${refused}: the handler's condition is false`);
    expect(shown.stdout).not.toMatch(/PRUNE01|nobody|persons/);
  });

  it('refuses an age limit that is shorter than the look-back of the reconciler, and exits with 1', async () => {
    const { exitCode, stderr } = await runCli(['prune', '--engine', engine.url, '--older-than', '1s', '--yes']);
    expect([exitCode, stderr]).toMatchObject([1, expect.stringContaining('the reconciler looks back that far')]);
  });

  it('a dry run, no terminal, or "n" at the prompt: shows what would be deleted, and deletes nothing', async () => {
    await untilIdle();
    // SQLite stores the time of events in whole seconds.
    await pollUntil(
      'the events to be from an earlier second',
      async () => (await database.countEvents(Date.now())) >= 3,
      { everyMs: 50 },
    );
    const before = await count();
    for (const options of [['--json'], ['--json', '--dry-run', '--yes']]) {
      const { exitCode, json } = await prune('--older-than', '0.01s', ...options);
      expect(exitCode, options.join(' ')).toBe(2);
      expect(json<Report>()).toMatchObject({ dryRun: true, rules: [{ executions: before }], events: 3 });
    }
    const unasked = await prune('--older-than', '0.01s');
    expect(unasked).toMatchObject({ exitCode: 2, stdout: expect.stringContaining('confirmation needs a terminal') });
    const refused = await pruneOnTerminal('n', '--older-than', '0.01s');
    expect(refused).toMatchObject({ exitCode: 1, stdout: expect.stringMatching(/^executions +rule/) });
    expect(refused.stderr).toMatch(/^Delete executions and event records \(\d+ in all\) at \S+\? \[y\/N\] /);
    expect(await count()).toBe(before);
  });

  it('prunes by state and by route, and keeps other executions', async () => {
    await movies(10);
    await demo('/adaptor/777/x');
    await untilIdle();
    const before = await count();
    const failed = await pruneOnTerminal('y', '--older-than', '0.01s', '--state', 'failed', '--no-events');
    expect(failed).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(': 1 execution deleted\n') });
    expect(failed.stdout).toContain('event records are skipped (--no-events)\n');
    const route = (
      await prune('--older-than', '0.01s', '--route', 'movies', '--no-events', '--yes', '--json')
    ).json<Report>();
    expect(route).toMatchObject({ executions: 10, events: null });
    // With --no-events, only the engine removes index rows, and it does so in the background.
    await pollUntil('the rows to be removed', async () => (await count()) === before - 11);
    expect((await prune('--older-than', '1h', '--no-events', '--yes', '--json')).json<Report>().executions).toBe(0);
  });

  it('deletes old executions of workflows whose definitions were removed, even when a route has its own rule', async () => {
    const { send } = engineApi(engine.url);
    const task = { name: 'movies_intake', taskReferenceName: 'intake', type: 'SIMPLE' };
    const ids = [];
    for (const name of ['formerWF', 'otherFormerWF']) {
      const definition = { ...{ name, version: 1, schemaVersion: 2 }, ownerEmail: 'a@b.org', tasks: [task] };
      await send('POST', '/metadata/workflow', definition);
      const { text: id } = await send('POST', '/workflow', { ...unpolled, name });
      await send('DELETE', `/workflow/${id}?reason=test`);
      await send('DELETE', `/metadata/workflow/${name}/1`);
      await sql(`UPDATE workflow_index SET end_time = '2020-01-01 00:00:00' WHERE workflow_id = '${id}'`);
      ids.push(id);
    }
    const env = { ...young, 'prune.movies.days': '60' };
    const report = (await runCli([...args(), '--no-events', '--yes', '--json'], env)).json<Report>();
    expect(report).toMatchObject({ executions: 2, kept: 0 });
    for (const id of ids) expect((await call(`${engine.url}/api/workflow/${id}`)).status).toBe(404);
  });

  it('keeps running executions despite an outdated index, and removes rows without an execution', async () => {
    const start = async () => engineApi(engine.url).send('POST', '/workflow', unpolled);
    const [running, gone] = [(await start()).text, (await start()).text];
    // The state that remains when the engine is killed between writing an execution and writing its index row.
    await sql(
      `UPDATE workflow_index SET status = 'FAILED', end_time = start_time WHERE workflow_id IN ('${running}', '${gone}')`,
    );
    await sql(`DELETE FROM workflow WHERE workflow_id = '${gone}'`);
    await untilOld();
    const report = (await prune('--older-than', '0.01s', '--state', 'failed', '--yes', '--json')).json<Report>();
    expect(report).toMatchObject({ executions: 0, kept: 1, orphans: 1 });
    expect((await call(`${engine.url}/api/workflow/${running}`)).json()).toMatchObject({ status: 'RUNNING' });
    expect(await count(`&query=${encodeURIComponent('status = FAILED')}`), 'its row is kept').toBe(1);
    expect((await call(`${engine.url}/api/workflow/${running}?reason=test`, { method: 'DELETE' })).status).toBe(200);
    await untilOld();
    expect(
      (await prune('--older-than', '0.01s', '--state', 'terminated', '--yes', '--json')).json<Report>().executions,
    ).toBe(1);
  });

  it('after SIGKILL in the middle, the next run deletes the rest, but no running execution', async () => {
    await movies(byDepth(60, 120));
    const events = await processedEvents();
    await patch('0318204');
    await patch('nobody');
    // The follow-up executions of the PATCHes start after the PATCHes have ended.
    await untilProcessed(events + 3);
    await untilIdle();
    const waiting = await engineApi(engine.url).send('POST', '/workflow', unpolled);
    const before = await count();
    const child = spawnPrune(engine.url, databaseUrl);
    await pollUntil('some executions to be deleted', async () => (await count()) < before - 3, { everyMs: 5 });
    child.kill('SIGKILL');
    await once(child, 'exit');
    const left = await count();
    expect(left).toBeLessThan(before);
    expect(left, 'the run was killed before it had finished').toBeGreaterThan(10);
    const { exitCode, json } = await prune('--older-than', '0.01s', '--yes', '--json');
    expect(exitCode).toBe(0);
    const report = json<Report>();
    expect(report).toMatchObject({ kept: 0, isComplete: true });
    expect(report.executions).toBeGreaterThan(0);
    // `left` may include rows of executions that the killed run had already deleted.
    expect(report.executions).toBeLessThan(left);
    expect(await rows(), 'only the running execution is left').toMatchObject([{ workflowId: waiting.text }]);
    expect((await call(`${engine.url}/api/workflow/${waiting.text}`)).json()).toMatchObject({ status: 'RUNNING' });
    expect(await database.countEvents(Date.now() + 1_000)).toBe(0);
    expect((await prune('--older-than', '0.01s', '--json')).exitCode, 'nothing is left to do').toBe(0);
    expect((await demo('/movies/Metropolis')).status, 'the engine still works').toBe(200);
    expect((await call(`${engine.url}/api/workflow/${waiting.text}?reason=test`, { method: 'DELETE' })).status).toBe(
      200,
    );
  });

  it('the prune job prunes as configured, and exits with 0 when it is stopped', async () => {
    await movies(10);
    await untilIdle();
    const pruner = await startProgram('jobs/prune/main.ts', {
      ...young,
      CONDUCTOR_URL: engine.url,
      CONDUCTOR_DATABASEURL: databaseUrl,
      PRUNE_INTERVALSECONDS: '1',
      PRUNE_HEALTHPORT: '0',
    });
    await pollUntil('two rounds', () => pruner.output().split('"msg":"pruned"').length > 2);
    expect(pruner.output()).toMatch(/"executions":0,"kept":0,"orphans":0,"events":0,"isComplete":true/);
    expect(await count(), 'all executions are younger than 30 days').toBeGreaterThan(10);
    expect((await fetch(`${String(pruner.ready['healthUrl'])}/health/ready`)).status).toBe(200);
    expect(await pruner.stop()).toBe(0);
  });
};

describe('prune on SQLite', () => prunes('sqlite'));
describe('prune on PostgreSQL', requires('full', 'postgresql'), () => prunes('postgresql'));

/** Starts a prune with small batches, so that it can be killed in the middle. */
function spawnPrune(engineUrl: string, databaseUrl: string): ChildProcess {
  const args = [
    main,
    'prune',
    '--engine',
    engineUrl,
    '--database',
    databaseUrl,
    '--older-than',
    '0.01s',
    '--batch',
    '2',
    '--yes',
  ];
  const { PATH, HOME } = process.env;
  return spawn(process.execPath, args, { env: { ...compileCache, PATH, HOME, ...young }, stdio: 'ignore' });
}
