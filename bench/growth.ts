// npm run bench:growth -- sqlite 400: measures how much the engine's database grows over 400 requests, and how much
// space pruning frees.

import type { EngineDatabase } from '#lib/conductor/database/database.ts';
import { openEngineDatabase } from '#lib/conductor/database/engine-database.ts';
import { Engine } from '#lib/conductor/engine.ts';
import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { prune } from '../jobs/prune/prune.ts';
import { endedStatuses } from '#lib/conductor/executions/has-ended.ts';
import { type EngineKind, type FaultEngine, startFaultEngine } from '../test/faults/engine.ts';
import { type Caller, callerFor } from '../test/stack/client.ts';
import { pollUntil } from '../test/stack/poll-until.ts';
import { startStack } from '../test/stack/stack.ts';

const kind: EngineKind = process.argv[2] === 'postgresql' ? 'postgresql' : 'sqlite';
const requests = Number(process.argv[3] ?? 400);
/**
 * One request in five is a PATCH. The college rejects one PATCH in ten. Each of the other PATCHes starts a workflow
 * that notifies MDM, and a workflow that shares the change with another college.
 */
const isPatch = (index: number) => index % 5 === 0;
const isRefused = (index: number) => index % 50 === 0;
const person = { known: '0318204', unknown: 'nobody' };

const { PGHOST = '127.0.0.1', PGPORT = '5432', PGUSER = 'postgres', PGPASSWORD = '' } = process.env;

function urlOf({ databaseFile, databaseUrl }: FaultEngine): string {
  if (databaseUrl === undefined) return `sqlite:${databaseFile}`;
  return `postgresql://${PGUSER}:${PGPASSWORD}@${PGHOST}:${PGPORT}/${databaseUrl.split('/').at(-1)}`;
}

async function load(client: Caller): Promise<void> {
  for (let index = 0; index < requests; index++) {
    const answer = isPatch(index)
      ? await client(`/adaptor/001/mock/colleges/001/persons/${isRefused(index) ? person.unknown : person.known}`, {
          method: 'PATCH',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ cccid: `G${index}` }),
        })
      : await client('/movies/Metropolis');
    const expected = isRefused(index) ? 404 : 200;
    if (answer.status !== expected) throw new Error(`request ${index}: ${answer.status} ${answer.text}`);
  }
}

async function untilIdle(api: ExecutionApi, database: EngineDatabase, events: number): Promise<void> {
  await pollUntil(
    'every event to be handled and every execution to end',
    async () => {
      const running = await api.count({ statuses: ['RUNNING'] });
      return running === 0 && (await database.countEvents(Date.now() + 2_000)) >= events;
    },
    { timeoutMs: 180_000, everyMs: 500 },
  );
}

const engine = await startFaultEngine(kind);
const stack = await startStack({ engineUrl: engine.url });
const database = await openEngineDatabase(urlOf(engine));
const client = new Engine({ url: engine.url, timeoutMs: 30_000, connections: 4 });
const api = new ExecutionApi(client.request.bind(client));
try {
  const demo = await callerFor(stack.url);
  const patches = Math.ceil(requests / 5);
  const refused = Math.ceil(requests / 50);
  // Each PATCH publishes an event. For each applied PATCH, mdmWF publishes another event, for the other college.
  const events = patches + (patches - refused);
  const bytes = [await database.usedBytes()];
  for (let round = 0; round < 2; round++) {
    await load(demo);
    await untilIdle(api, database, events);
    bytes.push(await database.usedBytes());
    const rule = { name: 'ended', statuses: endedStatuses, olderThanMs: 1 };
    const options = { api, rules: [rule], database, eventsOlderThanMs: -2_000, batchSize: 100, now: Date.now() };
    console.log(await prune(options));
    if (kind === 'postgresql') await database.compact();
    bytes.push(await database.usedBytes());
  }
  const [empty = 0, loaded = 0, pruned = 0, again = 0, prunedAgain = 0] = bytes;
  console.log({ kind, requests, empty, loaded, pruned, again, prunedAgain });
  console.log(`the database grows by ${((loaded - empty) / requests).toFixed(0)} bytes per request without pruning`);
  console.log(`pruning leaves ${((prunedAgain - pruned) / requests).toFixed(0)} bytes per request (second round)`);
} finally {
  await database.close();
  await client.close();
  await stack.stop();
  await engine.stop();
}
