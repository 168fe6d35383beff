// npm run bench:router: compares the cost of the router alone (on a stub engine and a stub worker) with that of bare
// Express 4.

import { parseArgs } from 'node:util';
import { measure } from './measure/measure.ts';
import { loadFlags, loadOptionsOf, loadFlagsHelp } from './options.ts';
import { startProgram } from './programs/program.ts';
import { moviePath as path, startRouter } from './programs/stack.ts';
import { describeCircumstances, lookAround } from './report/machine.ts';
import { processorTable, ratioTable, resultTable, routerRatios } from './report/tables.ts';
import { writeJson } from './report/write-results.ts';
import { type Run, runBench } from './run.ts';
import { createGet } from './targets/get.ts';
import { HttpClient } from './targets/http-client.ts';

const help = `Usage: npm run bench:router [-- options]

Compares the router with bare Express 4. The client, the worker and the engine use almost no time. The Express targets:

  express             responds by itself: one exchange
  express-calls       for each response, makes three calls to the engine: four exchanges with the client's
  express-exchanges   uses a worker as the router does: the client's exchange, the worker's exchange, two engine calls

${loadFlagsHelp}  --help                   this text
`;

process.exit(
  await runBench(async (run) => {
    const { values } = parseArgs({ options: { ...loadFlags, help: { type: 'boolean' } } });
    if (values.help) return run.say(help);
    const options = loadOptionsOf(values);
    const circumstances = await lookAround('a stub engine');
    run.say(describeCircumstances(circumstances));
    const programs = await startPrograms(run);
    const clientOf = (url: string) => {
      const client = new HttpClient(url, Math.max(8, ...options.inFlight));
      run.onEnd(() => client.close());
      return client;
    };
    const express = { name: 'express', text: 'bare Express 4', client: clientOf(programs.expressUrl) };
    const calls = { ...express, name: 'express-calls', text: 'bare Express 4 that calls the engine itself' };
    const exchanges = { ...express, name: 'express-exchanges', text: 'bare Express 4 between a worker and the engine' };
    const router = { name: 'router', text: 'the router on a stub engine', client: clientOf(programs.routerUrl) };
    const targets = [
      createGet({ ...express, usesEngine: false, path }),
      createGet({ ...calls, usesEngine: false, path: '/calls/Metropolis' }),
      createGet({ ...exchanges, usesEngine: false, path: '/exchanges/Metropolis' }),
      createGet({ ...router, usesEngine: false, path, token: programs.token }),
    ];
    const results = await measure({ ...options, targets, processes: programs.processes, onStep: run.step });
    const ratios = routerRatios(results);
    run.say([resultTable(results), processorTable(results), ratioTable(ratios)].join('\n\n'));
    run.say(`\n${writeJson('router.json', { ...circumstances, options, results, ratios })}`);
  }),
);

async function startPrograms(run: Run) {
  run.step('starting the programs');
  const start = async (name: string, env: Record<string, string> = {}) => {
    const program = await startProgram({ name, entry: `bench/programs/${name}.ts`, env, stateDir: run.stateDir });
    run.onEnd(() => program.stop());
    return program;
  };
  const engine = await start('engine-stub');
  const express = await start('bare-express', { BENCH_ENGINE: String(engine.ready['url']) });
  const router = await startRouter(run, { url: String(engine.ready['url']) });
  const worker = await start('stub-worker', { BENCH_ROUTER: router.url });
  const expressUrl = String(express.ready['url']);
  const expressWorker = await start('stub-worker', { BENCH_ROUTER: expressUrl });
  return {
    expressUrl,
    routerUrl: router.url,
    token: await router.tokenOf('demo'),
    processes: {
      express: [express.pid],
      router: [router.pid],
      worker: [worker.pid, expressWorker.pid],
      engine: [engine.pid],
      bench: [process.pid],
    },
  };
}
