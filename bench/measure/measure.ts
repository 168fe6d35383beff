// Measures targets in the planned order and collects the figures of the repetitions.

import type { Target } from '../targets/target.ts';
import { runClosedLoop } from './closed-loop.ts';
import { type Figures, figuresOf, middleOf } from './figures.ts';
import { machineTime, machineTimeSince } from './machine-time.ts';
import { planSteps } from './plan.ts';
import { difference, type Processes, processorMs } from './processes.ts';

export interface MeasureOptions {
  readonly targets: readonly Target[];
  readonly inFlight: readonly number[];
  readonly repetitions: number;
  readonly seconds: number;
  /** Length of the load before each measurement. First, each target gets one warm-up of four times this length. */
  readonly warmUpSeconds: number;
  /**
   * Returns the number of calls that the engine has served so far, for targets that use the engine. When absent, no
   * calls are counted.
   */
  readonly countEngineCalls?: () => Promise<number>;
  /** Returns the number of requests that the back end has served so far; called for targets that use the engine. */
  readonly countBackEndCalls?: () => Promise<number>;
  /** The processes whose CPU time is counted. */
  readonly processes: Processes;
  /** Called with a description of the current step. */
  readonly onStep: (line: string) => void;
}

/** Result of one target at one load. */
export interface Result {
  readonly target: string;
  /** Description of the target. */
  readonly text: string;
  readonly inFlight: number;
  /** Medians of the repetitions. */
  readonly figures: Figures;
  readonly repetitions: readonly Figures[];
}

/** Number of clients of the first warm-up. */
const firstWarmUpInFlight = 8;

/** Measures every target at every load. The results are in the order of the given loads and targets. */
export async function measure(options: MeasureOptions): Promise<Result[]> {
  const { targets, seconds, warmUpSeconds, onStep } = options;
  for (const target of targets) {
    onStep(`warming up ${target.name}`);
    await whileStarted(target, () =>
      runClosedLoop({ inFlight: firstWarmUpInFlight, seconds: 4 * warmUpSeconds, request: () => target.request() }),
    );
  }
  const steps = planSteps(options);
  const seen = new Map<string, Figures[]>();
  for (const [index, { target, inFlight, repetition }] of steps.entries()) {
    const { name } = target;
    const minutes = Math.ceil(((steps.length - index) * (seconds + warmUpSeconds)) / 60);
    const place = `${index + 1} of ${steps.length}, about ${minutes} min left`;
    onStep(`${place}: ${name}, ${inFlight} in flight, repetition ${repetition + 1}`);
    const figures = await whileStarted(target, () => measureOnce(target, inFlight, options));
    const key = `${name} ${inFlight}`;
    seen.set(key, [...(seen.get(key) ?? []), figures]);
  }
  return options.inFlight.flatMap((inFlight) =>
    targets.map(({ name: target, text }) => {
      const repetitions = seen.get(`${target} ${inFlight}`) ?? [];
      return { target, text, inFlight, figures: middleOf(repetitions), repetitions };
    }),
  );
}

async function measureOnce(target: Target, inFlight: number, options: MeasureOptions): Promise<Figures> {
  const { seconds, warmUpSeconds, countEngineCalls, countBackEndCalls, processes } = options;
  const request = () => target.request();
  const own = target.pid?.();
  const watched = own === undefined ? processes : { ...processes, own: [own] };
  await runClosedLoop({ inFlight, seconds: warmUpSeconds, request });
  const countCalls = target.usesEngine ? countEngineCalls : undefined;
  const countServed = target.usesEngine ? countBackEndCalls : undefined;
  const [callsBefore = 0, servedBefore = 0] = [await countCalls?.(), await countServed?.()];
  const machineBefore = machineTime();
  const before = processorMs(watched);
  const sample = await runClosedLoop({ inFlight, seconds, request });
  const used = difference(before, processorMs(watched));
  const counted = { processorMs: used, machine: machineTimeSince(machineBefore) };
  return figuresOf(sample, {
    ...counted,
    ...(countCalls === undefined ? {} : { engineCalls: (await countCalls()) - callsBefore }),
    ...(countServed === undefined ? {} : { backEndCalls: (await countServed()) - servedBefore }),
  });
}

async function whileStarted<T>(target: Target, act: () => Promise<T>): Promise<T> {
  await target.start?.();
  try {
    return await act();
  } finally {
    await target.stop?.();
  }
}
