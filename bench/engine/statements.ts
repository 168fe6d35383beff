// npm run bench:statements: counts the SQL statements, commits and bytes of write-ahead log for each engine call on
// PostgreSQL.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import postgres from 'postgres';
import type { Task } from '#lib/conductor/types.ts';
import { postgresqlProperties } from '../../dev/engine/engine-arguments.ts';
import { startEngine } from '../../dev/engine/start-engine.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { countByPhase, logSettings, parseStatements, phaseMarker } from '../measure/statement-log.ts';
import { engineName, positive } from '../options.ts';
import { floorWorkflow, registerDefinitions } from '../programs/definitions.ts';
import { startOwnPostgresql } from '../programs/postgresql.ts';
import { describeCircumstances, lookAround } from '../report/machine.ts';
import { type Executed, statementTables } from '../report/statement-tables.ts';
import { runBench } from '../run.ts';
import { startBody, taskOutput } from '../targets/execution.ts';
import { HttpClient } from '../targets/http-client.ts';

const help = `Usage: npm run bench:statements [-- options]

Executes a workflow of one task, one engine call at a time. The engine stores its data on a PostgreSQL server that is
started for this bench. Counts the statements of each call in the server's log, without those of the idle engine.

  --executions 200         executions for each of three ways to report a result: by name, by name after a poll, by id
  --idle 60                seconds for which the idle engine is observed
  --help                   this text
`;

/** Server settings with which neither autovacuum nor a checkpoint adds to the write-ahead log while it is measured. */
const quietSettings = { autovacuum: 'off', checkpoint_timeout: '1d', max_wal_size: '20GB' };
const { task } = floorWorkflow;
const output = JSON.stringify(taskOutput);

process.exit(
  await runBench(async (run) => {
    const { values } = parseArgs({
      options: {
        executions: { type: 'string', default: '200' },
        idle: { type: 'string', default: '60' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return run.say(help);
    const executions = positive('executions', values.executions);
    const idleSeconds = positive('idle', values.idle);
    const circumstances = await lookAround(engineName({ store: 'postgresql' }));
    run.step('starting PostgreSQL and the engine');
    const { database } = await startOwnPostgresql(run);
    const sql = postgres(database.url.replace('jdbc:', ''), { username: database.username, max: 1 });
    run.onEnd(() => sql.end({ timeout: 1 }));
    const tuning = { properties: postgresqlProperties, database };
    const engine = await startEngine({ port: await findFreePort(), stateDir: run.stateDir, tuning });
    run.onEnd(() => engine.stop());
    await registerDefinitions(engine.url);
    const client = new HttpClient(engine.url, 1);
    run.onEnd(() => client.close());
    run.step('warming up');
    await execute(client, 100, async () => {});
    const settings = Object.entries({ ...logSettings, ...quietSettings });
    for (const [name, value] of settings) await sql.unsafe(`ALTER SYSTEM SET ${name} = '${value}'`);
    await sql`SELECT pg_reload_conf()`;
    await delay(5_000);

    const written = recordWritten(sql);
    run.step(`observing the idle engine for ${idleSeconds} s`);
    await written.begin('idle');
    await delay(idleSeconds * 1_000);
    run.step(`${3 * executions} executions`);
    const calls = await execute(client, executions, (call) => written.begin(call));
    await written.begin('end');

    const [row] = await sql`SELECT current_setting('data_directory') AS folder, version() AS version`;
    const log = readFileSync(join(dirname(String(row?.['folder'])), 'postgresql.log'), 'utf8');
    const phases = countByPhase(parseStatements(log));
    const executed = (phase: string, count = 0): Executed => {
      const counts = phases.get(phase);
      if (counts === undefined) throw new Error(`the log of PostgreSQL has no statements of ${phase}`);
      return { calls: count, ...counts, ...written.of(phase) };
    };
    const kinds = Object.fromEntries([...calls].map(([call, count]) => [call, executed(call, count)]));
    run.say(`${describeCircumstances(circumstances)}\n${String(row?.['version'])}\n`);
    run.say(`${executions} executions for each way to report a result, one after the other:\n`);
    run.say(statementTables(kinds, executed('idle')));
  }),
);

/** Records what the server writes in each phase. */
function recordWritten(sql: postgres.Sql) {
  const phases = new Map<string, { writes: number; walBytes: number }>();
  const of = (phase: string) => phases.get(phase) ?? { writes: 0, walBytes: 0 };
  let last: { phase: string; writes: number; walBytes: number } | undefined;
  /** Ends the current phase, and begins a new phase or resumes an earlier phase. */
  const begin = async (phase: string) => {
    const [row] = await sql.unsafe(phaseMarker(phase));
    const now = { phase, writes: Number(row?.['transactions']), walBytes: Number(row?.['wal']) };
    if (last !== undefined) {
      const { writes, walBytes } = of(last.phase);
      const added = { writes: now.writes - last.writes, walBytes: now.walBytes - last.walBytes };
      phases.set(last.phase, { writes: writes + added.writes, walBytes: walBytes + added.walBytes });
    }
    last = now;
  };
  return { begin, of };
}

/**
 * Executes the workflow once for each way to report a result, and repeats this `executions` times. The ways are: by
 * name, as the router reports the results of reads; by name after a poll, as the router reports the results of writes;
 * and by id, as workers that use the engine directly do.
 * @param begin called before each call, with the name of the call
 * @returns the number of calls for each name
 */
async function execute(client: HttpClient, executions: number, begin: (phase: string) => Promise<void>) {
  const calls = new Map<string, number>();
  const call = async (phase: string, path: string, body?: string) => {
    await begin(phase);
    calls.set(phase, (calls.get(phase) ?? 0) + 1);
    return client.text(body === undefined ? { path } : { method: 'POST', path, body });
  };
  const start = () => call('start', '/api/workflow', startBody(floorWorkflow));
  const poll = () => call('poll', `/api/tasks/poll/batch/${task}?count=1&timeout=0&workerid=bench`);
  for (let index = 0; index < executions; index++) {
    await call('result by name', `/api/tasks/${await start()}/${task}/COMPLETED?workerid=bench`, output);
    const executionId = await start();
    await poll();
    await call('result by name, sync', `/api/tasks/${executionId}/${task}/COMPLETED/sync?workerid=bench`, output);
    await start();
    const [polled] = JSON.parse(await poll()) as Task[];
    if (polled === undefined) throw new Error('the poll returned no task');
    const { taskId, workflowInstanceId } = polled;
    const result = { taskId, workflowInstanceId, status: 'COMPLETED', workerId: 'bench', outputData: taskOutput };
    await call('result by id', '/api/tasks', JSON.stringify(result));
  }
  return calls;
}
