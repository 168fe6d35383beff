// Tests of backups: a dump of a running engine's database, restored into an empty database, brings back executions,
// definitions and running tasks. Opt-in, because these tests need PostgreSQL.

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, type Database } from '../stack/postgresql-database.ts';
import { postgresqlProperties } from '../../dev/engine/engine-arguments.ts';
import { type RunningEngine, startEngine } from '../../dev/engine/start-engine.ts';
import { runCli } from '../cli/run-cli.ts';
import { call, type Caller, callerFor } from '../stack/client.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { pollUntil } from '../stack/poll-until.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { requires } from '../run/requirements.ts';

const { PGHOST = '127.0.0.1', PGPORT = '5432', PGUSER = 'postgres' } = process.env;
const postgres = (program: string, ...args: string[]) =>
  promisify(execFile)(program, args, { env: { ...process.env, PGHOST, PGPORT, PGUSER } });
const nameOf = ({ server }: Database) => String(server.url.split('/').at(-1));

describe('backup and restore', requires('full', 'postgresql'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'service-router-backup-'));
  const dump = join(folder, 'conductor.dump');
  const databases: Database[] = [];
  let port: number;
  let url: string;
  let engine: RunningEngine;
  let stack: Stack;
  let demo: Caller;

  async function startOn(database: Database): Promise<void> {
    databases.push(database);
    const tuning = { properties: postgresqlProperties, database: database.server };
    engine = await startEngine({ port, stateDir: folder, tuning, say: () => undefined });
  }
  beforeAll(async () => {
    port = await findFreePort();
    url = `http://127.0.0.1:${port}`;
    await startOn(await createDatabase());
    await runCli(['register', '--engine', url]);
    stack = await startStack({ engineUrl: url });
    demo = await callerFor(stack.url);
  });
  afterAll(async () => {
    await stack?.stop();
    await engine?.stop();
    for (const database of databases) await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  const count = async (query = '') =>
    (await call(`${url}/api/workflow/search?start=0&size=1${query}`)).json<{ totalHits: number }>().totalHits;
  const stateOf = async (id: string) =>
    (await call(`${url}/api/workflow/${id}?includeTasks=true`)).json<{ status: string; tasks: unknown[] }>();

  it('a dump of a running engine, restored into an empty database → the same executions and definitions', async () => {
    const ids: string[] = [];
    for (let turn = 0; turn < 20; turn += 1)
      ids.push(String((await demo('/movies/Metropolis')).headers['x-execution-id']));
    const first = String(ids[0]);
    const before = await stateOf(first);
    // An execution that is running at the time of the dump, because no worker takes its task.
    await Promise.all(stack.workers.splice(0).map((program) => program.stop()));
    const { headers: accepted } = await demo('/movies/Casablanca', { headers: { prefer: 'respond-async' } });
    const waiting = String(accepted['location']);
    await pollUntil(
      'an execution to be running',
      async () => (await count(`&query=${encodeURIComponent('status = RUNNING')}`)) === 1,
    );
    const executions = await count();

    const started = performance.now();
    await postgres('pg_dump', '-Fc', `--file=${dump}`, nameOf(databases[0] as Database));
    const dumped = performance.now();
    await engine.stop();
    const restored = await createDatabase();
    const began = performance.now();
    await postgres('pg_restore', '--exit-on-error', `--dbname=${nameOf(restored)}`, dump);
    const took = [dumped - started, performance.now() - began].map((ms) => `${Math.round(ms)} ms`);
    process.stdout.write(
      `${executions} executions: dump ${took[0]}, ${statSync(dump).size} bytes, restore ${took[1]}\n`,
    );
    await startOn(restored);

    expect(await count()).toBe(executions);
    expect(await stateOf(first)).toEqual(before);
    const plan = await runCli(['plan', '--engine', url]);
    expect([plan.exitCode, plan.stdout]).toEqual([0, expect.any(String)]);
    // The execution continues: a worker takes its task from the restored queue.
    await pollUntil('the restored execution', async () => (await demo(waiting)).json()['state'] === 'running');
    await stack.addWorkers();
    await pollUntil(
      'no execution to be running',
      async () => (await count(`&query=${encodeURIComponent('status = RUNNING')}`)) === 0,
      { everyMs: 250 },
    );
    const response = await demo(`${waiting}/response`);
    expect([response.status, response.json()['title']]).toEqual([200, 'Casablanca']);
    expect((await demo('/movies/Metropolis')).status).toBe(200);
    expect(await count()).toBe(executions + 1);
  });
});
