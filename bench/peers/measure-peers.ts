// Measures the systems one after the other, so that no two of them run at the same time. Each system is restarted for
// each repetition.

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runClosedLoop } from '../measure/closed-loop.ts';
import { type Figures, figuresOf, median, middleOf } from '../measure/figures.ts';
import { machineTime, machineTimeSince } from '../measure/machine-time.ts';
import { rotate } from '../measure/plan.ts';
import { treeMemoryMiB, treeProcessorMs } from '../measure/process-tree.ts';
import type { LoadOptions } from '../options.ts';
import type { BackEnd } from '../programs/back-end-process.ts';
import { type Run, Stops } from '../run.ts';
import { HttpClient } from '../targets/http-client.ts';
import type { Peer, RunningPeer } from './peer.ts';

export interface PeerMeasureOptions extends LoadOptions {
  readonly peers: readonly Peer[];
  /** Length of the load between the start of a system and its first measurement. */
  readonly firstWarmUpSeconds: number;
}

/** Results of a system at one load. */
export interface LoadResult {
  readonly inFlight: number;
  /** Medians of the repetitions. */
  readonly figures: Figures;
  /** Memory of all processes of the system after the load, in MiB. */
  readonly memoryMiB: number;
}

export interface PeerResult extends Pick<Peer, 'name' | 'title' | 'setup' | 'durability' | 'isSynced'> {
  readonly isRouter: boolean;
  /** In the order of the loads; empty when the system did not run. */
  readonly loads: readonly LoadResult[];
  /** Why the system did not run in any repetition. */
  readonly notRun?: string;
  /** Errors that ended some repetitions; those repetitions have no figures. */
  readonly brokenOff?: readonly string[];
}

/** Result of one load in one repetition. */
interface Measured {
  readonly figures: Figures;
  readonly memoryMiB: number;
}

/** Number of clients in the warm-up after a start. */
const firstWarmUpInFlight = 32;
/** Maximum number of requests of one loop, whatever its length. */
const maxRequests = 500_000;
/** A response without this text is a failure, whatever its status. */
const expected = 'Fritz Lang';

/** Yields the results so far after each repetition, in the order of `peers`. */
export async function* measurePeers(
  run: Run,
  backEnd: BackEnd,
  options: PeerMeasureOptions,
): AsyncGenerator<readonly PeerResult[]> {
  const { peers, repetitions } = options;
  const seen = new Map<string, Measured[][]>();
  const brokenOff = new Map<string, string[]>();
  for (let repetition = 0; repetition < repetitions; repetition++) {
    for (const peer of rotate(peers, repetition)) {
      const { name } = peer;
      // A system that failed in its first repetition is not tried again.
      if (brokenOff.has(name) && !seen.has(name)) continue;
      const step = (line: string) => run.step(`repetition ${repetition + 1} of ${repetitions}, ${name}: ${line}`);
      try {
        seen.set(name, [...(seen.get(name) ?? []), await measureOne({ ...run, step }, { peer, backEnd, options })]);
      } catch (error) {
        const { message } = error as Error;
        brokenOff.set(name, [...(brokenOff.get(name) ?? []), message]);
        run.say(`${name}: repetition ${repetition + 1} was aborted: ${message}`);
      }
    }
    yield peers.map((peer) => {
      const [measured = [], errors = []] = [seen.get(peer.name), brokenOff.get(peer.name)];
      return peerResult(peer, { measured, errors, inFlight: options.inFlight });
    });
  }
}

function peerResult(
  { name, title, setup, durability, isSynced, isRouter = false }: Peer,
  { measured, errors, inFlight }: Seen,
): PeerResult {
  const described = { name, title, setup, durability, isSynced, isRouter };
  const [error] = errors;
  if (measured.length === 0 && error !== undefined) return { ...described, loads: [], notRun: error };
  const loads = inFlight.map((clients, index) => resultOf(clients, at(measured, index)));
  return { ...described, loads, ...(error === undefined ? {} : { brokenOff: errors }) };
}

/** Results of the repetitions of a system so far. */
interface Seen extends Pick<LoadOptions, 'inFlight'> {
  readonly measured: readonly (readonly Measured[])[];
  /** Errors of aborted repetitions. */
  readonly errors: readonly string[];
}

function at(repetitions: readonly (readonly Measured[])[], index: number): Measured[] {
  return repetitions.flatMap((loads) => loads[index] ?? []);
}

function resultOf(inFlight: number, repetitions: readonly Measured[]): LoadResult {
  const figures = middleOf(repetitions.map((one) => one.figures));
  return { inFlight, figures, memoryMiB: median(repetitions.map(({ memoryMiB }) => memoryMiB)) };
}

interface One {
  readonly peer: Peer;
  readonly backEnd: BackEnd;
  readonly options: PeerMeasureOptions;
}

/** Starts a system, measures it at every load and stops it. */
async function measureOne(run: Run, { peer, backEnd, options }: One): Promise<Measured[]> {
  const { inFlight, firstWarmUpSeconds } = options;
  const stops = new Stops();
  run.onEnd(() => stops.stopAll());
  const stateDir = mkdtempSync(join(run.stateDir, `${peer.name}-`));
  try {
    run.step('starting');
    const part = { ...run, stateDir, onEnd: (stop: () => unknown) => stops.add(stop) };
    const running = await peer.start(part, { backEndUrl: backEnd.url });
    const client = new HttpClient(running.url, Math.max(firstWarmUpInFlight, ...inFlight));
    stops.add(() => client.destroy());
    const request = async () => {
      const text = await client.text(running.call);
      if (!text.includes(expected)) throw new Error(`unexpected response: ${text.slice(0, 200)}`);
    };
    await request();
    run.step('warming up');
    await runClosedLoop({ inFlight: firstWarmUpInFlight, seconds: firstWarmUpSeconds, requests: maxRequests, request });
    const measured: Measured[] = [];
    for (const clients of inFlight) {
      run.step(`${clients} in flight`);
      measured.push(await measureLoad(clients, { running, backEnd, request }, options));
    }
    return measured;
  } finally {
    await stops.stopAll();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

interface Ground {
  readonly running: RunningPeer;
  readonly backEnd: BackEnd;
  readonly request: () => Promise<void>;
}

async function measureLoad(inFlight: number, ground: Ground, options: LoadOptions): Promise<Measured> {
  const { running, backEnd, request } = ground;
  const { seconds, warmUpSeconds } = options;
  await runClosedLoop({ inFlight, seconds: warmUpSeconds, requests: maxRequests, request });
  const readProcessors = () => ({
    system: treeProcessorMs(running.pids),
    'back end': treeProcessorMs([backEnd.pid]),
    // Counts only this process, because its children are the measured systems.
    bench: process.cpuUsage().user / 1_000 + process.cpuUsage().system / 1_000,
  });
  const servedBefore = await backEnd.countRequests();
  const machineBefore = machineTime();
  const before = readProcessors();
  const sample = await runClosedLoop({ inFlight, seconds, requests: maxRequests, request });
  const after = readProcessors();
  const machine = machineTimeSince(machineBefore);
  const memoryMiB = treeMemoryMiB(running.pids);
  const processorMs = {
    system: after.system - before.system,
    'back end': after['back end'] - before['back end'],
    bench: after.bench - before.bench,
  };
  const backEndCalls = (await backEnd.countRequests()) - servedBefore;
  return { figures: figuresOf(sample, { processorMs, machine, backEndCalls }), memoryMiB };
}
