// npm run kill-test: SIGKILLs the engine again and again under PATCH load, then asks adaptors and MDM what they have.

import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { call } from '../../stack/client.ts';
import { pollUntil } from '../../stack/poll-until.ts';
import { type Stack, startStack } from '../../stack/stack.ts';
import { type DatabaseKind, startKillableEngine, type KillableEngine } from './engine.ts';
import { preparePersons, startPatchLoad } from './patch-load.ts';
import { judge } from './verdict.ts';

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'sqlite' },
    kills: { type: 'string', default: '8' },
    /** Off: what is lost without the reconciler. */
    reconciler: { type: 'string', default: 'on' },
  },
});
const kills = Number(values.kills);
if (!['sqlite', 'postgresql'].includes(values.database) || !(kills > 0)) {
  throw new Error('usage: npm run kill-test -- [--database sqlite|postgresql] [--kills <n>] [--reconciler on|off]');
}

/** Since the start of this process: a run ends within five minutes, with fewer kills where restarts are slow. */
const killUntilMs = 150_000;
const restUntilMs = 265_000;

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  const interrupted = once(process, 'SIGTERM').then(() => 143);
  const engine = await startKillableEngine(values.database as DatabaseKind);
  const interval = values.reconciler === 'off' ? '0' : '2000';
  let stack: Stack | undefined;
  try {
    stack = await startStack({
      engineUrl: engine.url,
      anyAnswer: true,
      router: { RECONCILER_INTERVALMS: interval, RECONCILER_AFTERMS: '10000', ROUTER_WAITBUDGETMS: '8000' },
    });
    say('the stack is ready');
    return await Promise.race([run(engine, stack), interrupted]);
  } finally {
    await stack?.stop();
    await engine.stop();
  }
}

async function run(engine: KillableEngine, stack: Stack): Promise<number> {
  const { shared, own } = await preparePersons(stack.backEndsUrl);
  const persons = [...shared, ...own];
  const load = await startPatchLoad(stack.url, persons);
  let done = 0;
  while (done < kills && performance.now() < killUntilMs) {
    const from = load.acknowledged.length;
    await pollUntil('PATCHes to succeed again', () => load.acknowledged.length > from + persons.length, {
      timeoutMs: 60_000,
    });
    await pause(500 + Math.random() * 2_500);
    await engine.kill();
    const killedAt = performance.now();
    await engine.start();
    done++;
    say(
      `kill ${done}: ${load.acknowledged.length} acknowledged, back after ${Math.round(performance.now() - killedAt)} ms`,
    );
  }
  const beforeLast = load.acknowledged.length;
  await pollUntil('PATCHes to succeed again', () => load.acknowledged.length > beforeLast + persons.length, {
    timeoutMs: 60_000,
  });
  await load.stop();
  const restAt = performance.now();
  const atRest = await untilAtRest(engine, stack);
  const restSeconds = Math.round((performance.now() - restAt) / 1_000);
  const verdict = await judge(stack.backEndsUrl, { acknowledged: load.acknowledged, persons });
  for (const line of verdict.violations) say(`VIOLATION ${line}`);
  say(
    JSON.stringify({
      database: values.database,
      reconciler: values.reconciler,
      kills: done,
      ...verdict.counts,
      statuses: Object.fromEntries(load.statuses),
      repairs: await readMetric(stack, 'router_reconciled_total'),
      ended: await countByStatus(engine),
      restSeconds,
      atRest,
      violations: verdict.violations.length,
    }),
  );
  return verdict.violations.length === 0 && atRest ? 0 : 1;
}

/** Nothing runs any more, nothing is owed, and a few rounds have seen so. */
async function untilAtRest(engine: KillableEngine, stack: Stack): Promise<boolean> {
  let quietSince: number | undefined;
  return pollUntil(
    'everything to come to rest',
    async () => {
      const owed = Object.values(await readMetric(stack, 'router_events_unreconciled'));
      const running = (await readRunning(engine)).length;
      const quiet = running === 0 && owed.every((count) => count === 0);
      quietSince = quiet ? (quietSince ?? performance.now()) : undefined;
      return quietSince !== undefined && performance.now() - quietSince > 15_000;
    },
    { timeoutMs: Math.max(1_000, restUntilMs - performance.now()), everyMs: 1_000 },
  ).catch(async (error: Error) => {
    const owed = JSON.stringify(await readMetric(stack, 'router_events_unreconciled'));
    say(`VIOLATION ${error.message}: ${owed} ${await describeRunning(engine)}`);
    return false;
  });
}

interface Running {
  workflowName: string;
  status: string;
  startTime: number;
  tasks: { referenceTaskName: string; status: string; startTime: number; pollCount: number }[];
}

/** What really runs: a killed engine's index may still call an execution running that has ended. */
async function readRunning(engine: KillableEngine): Promise<Running[]> {
  const query = new URLSearchParams({ query: 'status = RUNNING', start: '0', size: '50' });
  const found = (await call(`${engine.url}/api/workflow/search?${query}`)).json<{
    results: { workflowId: string }[];
  }>();
  const executions: Running[] = [];
  for (const { workflowId } of found.results) {
    executions.push((await call(`${engine.url}/api/workflow/${workflowId}`)).json<Running>());
  }
  return executions.filter(({ status }) => status === 'RUNNING');
}

async function describeRunning(engine: KillableEngine): Promise<string> {
  const age = (time: number) => (time === 0 ? '-' : `${Math.round((Date.now() - time) / 1_000)} s`);
  const executions = (await readRunning(engine)).map(({ workflowName, startTime, tasks }) => {
    const steps = tasks.map(
      (task) => `${task.referenceTaskName} ${task.status} ${task.pollCount} ${age(task.startTime)}`,
    );
    return `${workflowName} ${age(startTime)} [${steps.join(', ')}]`;
  });
  return executions.join('; ');
}

async function readMetric(stack: Stack, name: string): Promise<Record<string, number>> {
  const { text } = await call(`${stack.operationsUrl}/metrics`);
  const lines = [...text.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\d+)$`, 'gm'))];
  return Object.fromEntries(
    lines.map(([, labels = '', value]) => [
      [...labels.matchAll(/"([^"]*)"/g)].map(([, text]) => text).join(' '),
      Number(value),
    ]),
  );
}

async function countByStatus(engine: KillableEngine): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const status of ['RUNNING', 'COMPLETED', 'FAILED', 'TIMED_OUT', 'TERMINATED']) {
    const query = new URLSearchParams({ query: `status = ${status}`, start: '0', size: '1' });
    const answer = await call(`${engine.url}/api/workflow/search?${query}`);
    counts[status] = answer.json<{ totalHits: number }>().totalHits;
  }
  return counts;
}

// A run that was interrupted may still be waiting for something.
process.exit(await main());
