// npm run bench:idle: counts the calls to the engine per second while workers wait and there are no requests.

import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { pollUntil } from '../test/stack/poll-until.ts';
import { countEngineCalls } from './measure/engine-calls.ts';
import { startIdleWorkers } from './measure/idle-workers.ts';
import { readMetric } from './measure/router-metrics.ts';
import { engineName, engineChoiceOf, engineFlags, engineFlagsHelp, positive } from './options.ts';
import { startBenchEngine } from './programs/engine.ts';
import { type BenchRouter, startRouter } from './programs/stack.ts';
import { describeCircumstances, lookAround } from './report/machine.ts';
import { markdownTable } from './report/tables.ts';
import { writeJson } from './report/write-results.ts';
import { runBench } from './run.ts';

const help = `Usage: npm run bench:idle [-- options]

Counts the calls to the engine per second while the router holds the polls of idle workers of one task type.

  --workers 1,10,100       numbers of workers
  --seconds 20             length of one measurement
${engineFlagsHelp}`;

process.exit(
  await runBench(async (run) => {
    const { values } = parseArgs({
      options: {
        workers: { type: 'string', default: '1,10,100' },
        seconds: { type: 'string', default: '20' },
        ...engineFlags,
      },
    });
    if (values.help) return run.say(help);
    const counts = values.workers.split(',').map((text) => positive('workers', text));
    const seconds = positive('seconds', values.seconds);
    const circumstances = await lookAround(engineName(values));
    run.say(describeCircumstances(circumstances));
    const engine = await startBenchEngine(run, engineChoiceOf(values));
    const router = await startRouter(run, engine);
    const results = [];
    for (const workers of counts) {
      run.step(`${workers} idle workers`);
      results.push({ workers, ...(await measureIdle({ workers, seconds, router, engineUrl: engine.url })) });
    }
    const rows = results.map((result) => Object.values(result).map((value) => String(Math.round(value * 100) / 100)));
    run.say(markdownTable([['idle workers', "calls/s, router's count", "calls/s, engine's count"], ...rows]));
    run.say(`\n${writeJson(`${values.name ?? 'idle'}.json`, { ...circumstances, seconds, results })}`);
  }),
);

interface IdleOptions {
  readonly workers: number;
  readonly seconds: number;
  readonly router: BenchRouter;
  readonly engineUrl: string;
}

async function measureIdle({ workers, seconds, router, engineUrl }: IdleOptions) {
  const idle = await startIdleWorkers(router, workers);
  const heldPolls = () => readMetric(router.operationsUrl, 'router_held_polls');
  const read = async () => ({
    router: await readMetric(router.operationsUrl, 'router_engine_calls_total'),
    engine: await countEngineCalls(engineUrl),
    at: performance.now() / 1_000,
  });
  const measured = async () => {
    await pollUntil(`${workers} held polls`, async () => (await heldPolls()) === workers);
    const before = await read();
    await delay(seconds * 1_000);
    const after = await read();
    const elapsed = after.at - before.at;
    return { router: (after.router - before.router) / elapsed, engine: (after.engine - before.engine) / elapsed };
  };
  try {
    return await Promise.race([measured(), idle.failed]);
  } finally {
    await idle.stop();
  }
}
