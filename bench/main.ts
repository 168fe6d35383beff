// npm run bench: compares the router with the back end alone, a plain proxy, bare calls to the engine and Conductor's
// SDK, in one run.

import { countEngineCalls } from './measure/engine-calls.ts';
import { median } from './measure/figures.ts';
import { measure, type Result } from './measure/measure.ts';
import type { Processes } from './measure/processes.ts';
import { type BenchOptions, engineName, help, parseOptions } from './options.ts';
import { startBackEnd } from './programs/back-end-process.ts';
import { startBenchEngine } from './programs/engine.ts';
import { startProduction } from './programs/production.ts';
import { moviePath as path, startStack } from './programs/stack.ts';
import { describeCircumstances, lookAround } from './report/machine.ts';
import { processorTable, ratioTable, resultTable, routerRatios } from './report/tables.ts';
import { writeJson } from './report/write-results.ts';
import { type Run, runBench } from './run.ts';
import { createFloor } from './targets/floor.ts';
import { createGet } from './targets/get.ts';
import { HttpClient } from './targets/http-client.ts';
import { createProxy, ensureProxy } from './targets/proxy.ts';
import { createExecute, createSdkDefault } from './targets/sdk.ts';

const routerTarget = { name: 'router', text: 'a GET through the whole stack', usesEngine: true };

process.exit(
  await runBench(async (run) => {
    const options = parseOptions(process.argv.slice(2));
    if (options.help) return run.say(help);
    const servers = options.production ? ', two engine servers, two routers' : '';
    const before = await lookAround(engineName(options.engine) + servers);
    run.say(describeCircumstances(before));
    const results = await measureAll(run, options);
    const circumstances = { ...before, busyDuring: median(results.map(({ figures }) => figures.othersShare)) };
    const ratios = routerRatios(results);
    run.say([resultTable(results), processorTable(results), ratioTable(ratios)].join('\n\n'));
    const json = writeJson(`${options.name}.json`, { ...circumstances, options, results, ratios });
    run.say(`\n${describeCircumstances(circumstances)}\n${json}`);
  }),
);

/** The programs that the targets share. */
interface Ground {
  readonly engineUrls: readonly string[];
  readonly routerUrls: readonly string[];
  readonly token: string;
  readonly processes: Processes;
}

async function startGround(run: Run, options: BenchOptions, backEndUrl: string): Promise<Ground> {
  if (options.production) {
    const { engineUrls, routers, token, processes } = await startProduction(run, backEndUrl);
    return { engineUrls, routerUrls: routers.map(({ url }) => url), token, processes };
  }
  const engine = await startBenchEngine(run, options.engine);
  const { url, token, pid, workers } = await startStack(run, { engine, backEndUrl });
  const processes = { ...(await engine.processes()), router: [pid], workers: [workers.pid] };
  return { engineUrls: [engine.url], routerUrls: [url], token, processes };
}

async function measureAll(run: Run, options: BenchOptions): Promise<Result[]> {
  const withProxy = options.targets.includes('proxy') && ensureProxy(run, options.installProxy);
  const { stateDir } = run;
  const backEnd = await startBackEnd(run);
  const { engineUrls, routerUrls, token, processes } = await startGround(run, options, backEnd.url);
  const [engineUrl = ''] = engineUrls;
  const connections = Math.max(8, ...options.inFlight);
  const clientOf = (origin: string) => {
    const client = new HttpClient(origin, connections);
    run.onEnd(() => client.close());
    return client;
  };
  const sdk = { engine: clientOf(engineUrl), engineUrl, backEndUrl: backEnd.url, stateDir };
  const targets = [
    createGet({ name: 'direct', text: 'the back end alone', usesEngine: false, path, client: clientOf(backEnd.url) }),
    ...(withProxy ? [createProxy({ backEndUrl: backEnd.url, stateDir, connections })] : []),
    createFloor(clientOf(engineUrl)),
    createGet({ ...routerTarget, path, client: routerUrls.map(clientOf), token }),
    createSdkDefault(sdk),
    createExecute(sdk),
  ].filter(({ name }) => options.targets.some((asked) => asked === name));
  return measure({
    ...options,
    targets,
    countEngineCalls: async () => (await Promise.all(engineUrls.map(countEngineCalls))).reduce((sum, n) => sum + n, 0),
    countBackEndCalls: () => backEnd.countRequests(),
    processes: { ...processes, 'back end': [backEnd.pid], bench: [process.pid] },
    onStep: run.step,
  });
}
