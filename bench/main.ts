// npm run bench: the router beside the engine's floor and the usual ways round it, in one run.

import { countEngineCalls } from './measure/engine-calls.ts';
import { median } from './measure/figures.ts';
import { measure, type Result } from './measure/measure.ts';
import { type BenchOptions, engineName, help, parseOptions } from './options.ts';
import { startBackEnd } from './programs/back-end-process.ts';
import { startBenchEngine } from './programs/engine.ts';
import { moviePath as path, startStack } from './programs/stack.ts';
import { chart } from './report/chart.ts';
import { describeCircumstances, lookAround } from './report/machine.ts';
import { processorTable, ratioTable, resultTable, routerRatios } from './report/tables.ts';
import { writeJson, writeResults } from './report/write-results.ts';
import { type Run, runBench } from './run.ts';
import { createFloor } from './targets/floor.ts';
import { createGet } from './targets/get.ts';
import { HttpClient } from './targets/http-client.ts';
import { createProxy, ensureProxy } from './targets/proxy.ts';
import { createExecute, createSdkDefault } from './targets/sdk.ts';

const routerTarget = { name: 'router', text: 'a GET through everything', usesEngine: true };

process.exit(
  await runBench(async (run) => {
    const options = parseOptions(process.argv.slice(2));
    if (options.help) return run.say(help);
    const before = await lookAround(engineName(options.engine));
    run.say(describeCircumstances(before));
    const results = await measureAll(run, options);
    const circumstances = { ...before, busyDuring: median(results.map(({ figures }) => figures.othersShare)) };
    const ratios = routerRatios(results);
    run.say([resultTable(results), processorTable(results), ratioTable(ratios)].join('\n\n'));
    const json = writeJson(`${options.name}.json`, { ...circumstances, options, results, ratios });
    const caption = describeCircumstances(circumstances);
    const svg = writeResults(`${options.name}.svg`, chart(results, caption));
    run.say(`\n${caption}\n${json}\n${svg}`);
  }),
);

async function measureAll(run: Run, options: BenchOptions): Promise<Result[]> {
  const withProxy = options.targets.includes('proxy') && ensureProxy(run, options.installProxy);
  const { stateDir } = run;
  const engine = await startBenchEngine(run, options.engine);
  const backEnd = await startBackEnd(run);
  const stack = await startStack(run, { engineUrl: engine.url, backEndUrl: backEnd.url });
  const connections = Math.max(8, ...options.inFlight);
  const clientOf = (origin: string) => {
    const client = new HttpClient(origin, connections);
    run.onEnd(() => client.close());
    return client;
  };
  const sdk = { engine: clientOf(engine.url), engineUrl: engine.url, backEndUrl: backEnd.url, stateDir };
  const targets = [
    createGet({ name: 'direct', text: 'the back end alone', usesEngine: false, path, client: clientOf(backEnd.url) }),
    ...(withProxy ? [createProxy({ backEndUrl: backEnd.url, stateDir, connections })] : []),
    createFloor(clientOf(engine.url)),
    createGet({ ...routerTarget, path, client: clientOf(stack.url), token: stack.token }),
    createSdkDefault(sdk),
    createExecute(sdk),
  ].filter(({ name }) => options.targets.some((asked) => asked === name));
  return measure({
    ...options,
    targets,
    countEngineCalls: () => countEngineCalls(engine.url),
    processes: {
      ...(await engine.processes()),
      router: [stack.pid],
      workers: [stack.workers.pid],
      'back end': [backEnd.pid],
      bench: [process.pid],
    },
    onStep: run.step,
  });
}
