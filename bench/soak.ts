// npm run bench:soak: measures the growth of the engine's database, and of the memory of the router, the workers and
// the engine, over many requests.

import { parseArgs } from 'node:util';
import { runClosedLoop } from './measure/closed-loop.ts';
import { figuresOf } from './measure/figures.ts';
import { growthOf, type Reading } from './measure/growth.ts';
import { machineTime, machineTimeSince } from './measure/machine-time.ts';
import { difference, processorMs, residentMiB } from './measure/processes.ts';
import { engineName, engineChoiceOf, engineFlags, engineFlagsHelp, positive } from './options.ts';
import { startBackEnd } from './programs/back-end-process.ts';
import { startBenchEngine } from './programs/engine.ts';
import { moviePath as path, startStack } from './programs/stack.ts';
import { describeCircumstances, lookAround } from './report/machine.ts';
import { markdownTable, readable } from './report/tables.ts';
import { writeJson } from './report/write-results.ts';
import { type Run, runBench } from './run.ts';
import { HttpClient } from './targets/http-client.ts';

const help = `Usage: npm run bench:soak [-- options]

Sends many requests through the whole stack and measures the growth of the engine's database and of the memory of the
router, the workers and the engine.

  --requests 100000        number of requests; the first tenth is warm-up
  --in-flight 32           clients of the closed loop
${engineFlagsHelp}`;

/** Interval at which memory is read, in milliseconds. */
const readingMs = 500;

process.exit(
  await runBench(async (run) => {
    const { values } = parseArgs({
      options: {
        requests: { type: 'string', default: '100000' },
        'in-flight': { type: 'string', default: '32' },
        ...engineFlags,
      },
    });
    if (values.help) return run.say(help);
    const requests = positive('requests', values.requests);
    const inFlight = positive('in-flight', values['in-flight']);
    const circumstances = await lookAround(engineName(values));
    run.say(describeCircumstances(circumstances));
    const engine = await startBenchEngine(run, engineChoiceOf(values));
    const backEnd = await startBackEnd(run);
    const stack = await startStack(run, { engine, backEndUrl: backEnd.url });
    const processes = {
      router: [stack.pid],
      workers: [stack.workers.pid],
      ...(await engine.processes()),
    };
    const client = new HttpClient(stack.url, inFlight);
    run.onEnd(() => client.close());
    const call = { path, headers: { authorization: `Bearer ${stack.token}` } };

    const readings: Reading[] = [];
    let answered = 0;
    const timer = setInterval(() => {
      readings.push({ requests: answered, memory: residentMiB(processes) });
      run.step(`${answered} of ${requests} requests`);
    }, readingMs);
    run.onEnd(() => clearInterval(timer));
    const machineBefore = machineTime();
    const processorBefore = processorMs(processes);
    const bytesBefore = await engine.databaseBytes();
    const sample = await runClosedLoop({
      inFlight,
      seconds: Number.POSITIVE_INFINITY,
      requests,
      request: async () => {
        await client.text(call);
        answered += 1;
      },
    });
    clearInterval(timer);
    const bytesEach = ((await engine.databaseBytes()) - bytesBefore) / answered;
    const growth = growthOf(readings, requests);
    const used = difference(processorBefore, processorMs(processes));
    const figures = figuresOf(sample, { processorMs: used, machine: machineTimeSince(machineBefore) });
    report(run, { growth, bytesEach, figures });
    const file = `${values.name ?? 'soak'}.json`;
    run.say(`\n${writeJson(file, { ...circumstances, requests, inFlight, figures, bytesEach, growth, readings })}`);
  }),
);

interface Findings {
  readonly growth: ReturnType<typeof growthOf>;
  readonly bytesEach: number;
  readonly figures: ReturnType<typeof figuresOf>;
}

function report(run: Run, { growth, bytesEach, figures }: Findings): void {
  const rows = Object.entries(growth).map(([name, { before, after }]) => [
    name,
    before.toFixed(0),
    after.toFixed(0),
    `${((after / before - 1) * 100).toFixed(1)} %`,
  ]);
  run.say(markdownTable([['resident memory', 'after the first tenth, MiB', 'at the end, MiB', 'growth'], ...rows]));
  const { requests, failures, firstFailure, requestsPerSecond, p50, p99 } = figures;
  run.say(`\n${requests} requests, ${failures} failures${firstFailure === undefined ? '' : ` (${firstFailure})`}`);
  run.say(`${readable(requestsPerSecond)} requests/s, p50 ${readable(p50)} ms, p99 ${readable(p99)} ms`);
  run.say(`the engine's database grew by ${(bytesEach / 1_024).toFixed(1)} KiB per request`);
}
