// npm run bench:overload: measures how many requests are served, and how fast the others are rejected, when requests
// arrive faster than the system can serve them (open loop).

import { parseArgs } from 'node:util';
import type { LoadFigures, Latencies } from './measure/load-figures.ts';
import { machineTime, machineTimeSince } from './measure/machine-time.ts';
import { difference, processorMs, type Processes } from './measure/processes.ts';
import { startProbes } from './measure/probes.ts';
import { type Collections, readCollections } from './measure/router-metrics.ts';
import { engineChoiceOf, engineFlags, engineFlagsHelp, engineName, positive } from './options.ts';
import { startBackEnd } from './programs/back-end-process.ts';
import { startBenchEngine } from './programs/engine.ts';
import type { Plan } from './programs/sender.ts';
import { startSender } from './programs/sending.ts';
import { moviePath, startStack } from './programs/stack.ts';
import { describeCircumstances, lookAround } from './report/machine.ts';
import { markdownTable, readable } from './report/tables.ts';
import { writeJson } from './report/write-results.ts';
import { type Run, runBench } from './run.ts';

const help = `Usage: npm run bench:overload [-- options]

Measures the capacity with a closed loop, sends requests at a multiple of that rate, and measures the capacity again.

  --factors 5,10           loads, as multiples of the capacity
  --seconds 60             length of each load
  --capacity-seconds 15    length of the closed loop that finds the capacity
  --in-flight 64           clients of that closed loop
  --write-share 0          percentage of writes among the requests; writes cost more, which changes the capacity
${engineFlagsHelp}`;

/** One load and its figures. */
interface Phase {
  readonly name: string;
  readonly figures: LoadFigures;
  /** Latencies of calls that the load must not slow down. */
  readonly probes: Readonly<Record<string, Latencies & { failures: number }>>;
  /** CPU time of each process, as a share of one core; `others`: all other processes on the machine. */
  readonly cores: Readonly<Record<string, number>>;
  /** Minor garbage collections of the router. */
  readonly collections: Collections;
}

const capacityName = 'capacity';
const recoverySeconds = 10;
/** Load after an overload, as a share of the capacity; all of its requests should be served. */
const recoveryFactor = 0.5;

process.exit(
  await runBench(async (run) => {
    const { values } = parseArgs({
      options: {
        factors: { type: 'string', default: '5,10' },
        seconds: { type: 'string', default: '60' },
        'capacity-seconds': { type: 'string', default: '15' },
        'in-flight': { type: 'string', default: '64' },
        'write-share': { type: 'string', default: '0' },
        ...engineFlags,
      },
    });
    if (values.help) return run.say(help);
    const circumstances = await lookAround(engineName(values));
    run.say(describeCircumstances(circumstances));
    const stack = await startPrograms(run, values);
    const seconds = positive('seconds', values.seconds);
    const writeShare = values['write-share'] === '0' ? 0 : positive('write-share', values['write-share']);
    const phases: Phase[] = [];
    const load = async (name: string, arrival: Plan['arrival'], length: number) => {
      run.step(`${name}: ${length} s`);
      const phase = await runPhase(stack, { name, arrival, seconds: length, writeShare });
      phases.push(phase);
      return phase.figures.goodput;
    };
    const inFlight = positive('in-flight', values['in-flight']);
    const capacitySeconds = positive('capacity-seconds', values['capacity-seconds']);
    await load('warm-up', { inFlight }, capacitySeconds);
    let capacity = await load(capacityName, { inFlight }, capacitySeconds);
    for (const factor of values.factors.split(',').map((text) => positive('factors', text))) {
      await load(`${factor} x`, { perSecond: factor * capacity }, seconds);
      await load(`after ${factor} x`, { perSecond: recoveryFactor * capacity }, recoverySeconds);
      capacity = await load(capacityName, { inFlight }, capacitySeconds);
    }
    const shares = phases.map((_, index) => shareOfCapacity(phases, index));
    report(run, phases, shares);
    const usual = values.store === 'sqlite' ? 'overload' : `overload-${values.store}`;
    const file = `${values.name ?? usual}.json`;
    run.say(`\n${writeJson(file, { ...circumstances, options: values, shares, phases })}`);
  }),
);

/**
 * Returns the goodput of a load as a share of the capacity. The capacity is the mean of the values measured before and
 * after the load, because the engine keeps getting faster for minutes and the speed of a virtual machine varies.
 */
function shareOfCapacity(phases: readonly Phase[], index: number): number {
  const isCapacity = ({ name }: Phase) => name === capacityName;
  const around = [phases.slice(0, index).findLast(isCapacity), phases.slice(index + 1).find(isCapacity)];
  const known = around.flatMap((phase) => phase?.figures.goodput ?? []);
  const goodput = phases[index]?.figures.goodput ?? Number.NaN;
  return (goodput * known.length) / known.reduce((sum, each) => sum + each, 0);
}

interface Programs {
  readonly url: string;
  readonly operationsUrl: string;
  readonly tokens: { readonly client: string; readonly worker: string; readonly ops: string };
  readonly processes: Processes;
  send(plan: Plan): Promise<LoadFigures>;
}

async function startPrograms(run: Run, values: Parameters<typeof engineChoiceOf>[0]): Promise<Programs> {
  const engine = await startBenchEngine(run, engineChoiceOf(values));
  const backEnd = await startBackEnd(run);
  const workersEnv = { WORKERS_TASKTYPES: 'movies_intake,college-adaptor_intake', ADAPTOR_001_URL: backEnd.url };
  const stack = await startStack(run, { engine, backEndUrl: backEnd.url, workersEnv });
  const sender = await startSender(run, 'clients');
  const engineProcesses = await engine.processes();
  const processes = {
    ...engineProcesses,
    router: [stack.pid],
    workers: [stack.workers.pid],
    backEnd: [backEnd.pid],
    sender: [sender.pid],
    probes: [process.pid],
  };
  return {
    url: stack.url,
    operationsUrl: stack.operationsUrl,
    tokens: { client: stack.token, worker: await stack.tokenOf('worker'), ops: await stack.tokenOf('ops') },
    processes,
    send: (plan) => sender.send(plan),
  };
}

interface PhaseOptions {
  readonly name: string;
  readonly arrival: Plan['arrival'];
  readonly seconds: number;
  readonly writeShare: number;
}

async function runPhase(programs: Programs, { name, arrival, seconds, writeShare }: PhaseOptions): Promise<Phase> {
  const { url, operationsUrl, tokens, processes } = programs;
  const { hostname: host, port } = new URL(url);
  const head = `host: ${host}:${port}\r\nauthorization: Bearer ${tokens.client}\r\n`;
  const read = { name: 'read', text: `GET ${moviePath} HTTP/1.1\r\n${head}\r\n` };
  const body = '{"name":"Ada"}';
  const write = {
    name: 'write',
    text: `POST /adaptor/001/persons HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  };
  const requests = Array.from({ length: 100 }, (_, index) => ((index * writeShare) % 100 < writeShare ? write : read));
  const probes = startProbes({
    // Expects 503, because some task types have no workers.
    ready: { url: `${operationsUrl}/health/ready`, accepts: [503] },
    live: { url: `${operationsUrl}/health/live` },
    // A poll that the router holds, because its queue has no tasks.
    poll: {
      url: `${url}/conductor/api/tasks/poll/batch/bench-idle_${name.replaceAll(/\W/g, '')}?count=1&timeout=1`,
      token: tokens.worker,
    },
    // A call that the router forwards to the engine, over the connections for workers.
    engine: { url: `${url}/conductor/api/metadata/workflow/moviesWF?version=1`, token: tokens.ops },
  });
  const collectionsBefore = await readCollections(operationsUrl);
  const before = processorMs(processes);
  const machineBefore = machineTime();
  const startedAt = performance.now();
  const figures = await programs.send({ host, port: Number(port), requests, arrival, seconds, patienceMs: 20_000 });
  const elapsedMs = performance.now() - startedAt;
  const used = difference(before, processorMs(processes));
  const ours = Object.values(used).reduce((sum, ms) => sum + ms, 0);
  const others = Math.max(0, machineTimeSince(machineBefore).busy - ours);
  const cores = Object.fromEntries(Object.entries({ ...used, others }).map(([name, ms]) => [name, ms / elapsedMs]));
  const { count, ms } = await readCollections(operationsUrl);
  const collections = { count: count - collectionsBefore.count, ms: ms - collectionsBefore.ms };
  return { name, figures, probes: await probes.stop(), cores, collections };
}

function report(run: Run, phases: readonly Phase[], shares: readonly number[]): void {
  const header = ['load', 'offered/s', 'served/s', 'share of capacity', 'p50 ms', 'p99 ms', 'writes served', 'refused'];
  const more = ['refused p50', 'refused p99', 'refused max', 'other', 'sender late ms'];
  const rows = phases.map(({ name, figures }, index) => [
    name,
    readable(figures.offeredPerSecond),
    readable(figures.goodput),
    `${(100 * (shares[index] ?? Number.NaN)).toFixed(0)} %`,
    readable(figures.served.p50),
    readable(figures.served.p99),
    String(figures.servedByName['write'] ?? 0),
    String(figures.refused.count),
    readable(figures.refused.p50),
    readable(figures.refused.p99),
    readable(figures.refused.max),
    [...Object.entries(figures.others), ['no response', figures.unanswered]]
      .filter(([, count]) => count !== 0)
      .map(([status, count]) => `${count} x ${status}`)
      .join(', '),
    readable(figures.senderLatestMs),
  ]);
  run.say(markdownTable([[...header, ...more], ...rows]));
  const names = Object.keys(phases[0]?.probes ?? {});
  const probeRows = phases.map(({ name, probes }) => [
    name,
    ...names.flatMap((probe) => {
      const { p50, p99, failures } = probes[probe] as Latencies & { failures: number };
      return [readable(p50), readable(p99), String(failures)];
    }),
  ]);
  const probeHeader = ['load', ...names.flatMap((probe) => [`${probe} p50`, 'p99', 'failed'])];
  run.say(`\nLatencies of the probes during each load, in ms:\n\n${markdownTable([probeHeader, ...probeRows])}`);
  const processes = Object.keys(phases[0]?.cores ?? {});
  const coreRows = phases.map(({ name, cores, collections: { count, ms } }) => [
    name,
    ...processes.map((process) => (cores[process] ?? Number.NaN).toFixed(2)),
    String(count),
    count === 0 ? '-' : readable(ms / count),
  ]);
  const coreHeader = ['load', ...processes, 'collections', 'mean ms'];
  run.say(
    `\nCores in use, and minor garbage collections of the router:\n\n${markdownTable([coreHeader, ...coreRows])}`,
  );
}
