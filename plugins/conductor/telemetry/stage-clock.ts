// Measures how long one request spends in each stage. At any time, exactly one stage is current.

/**
 * Stages of a request. `router`: work in this process. `queue`: the wait for admission, then for a worker. `engine`:
 * the calls that start the execution and report its result. `worker`: the time from when the task is handed to a worker
 * until its result arrives, without `back_end`. `back_end`: the time spent in the back end, as the worker reports it.
 * `elsewhere`: the wait for an execution whose task another router handed out.
 */
export const stages = ['router', 'queue', 'engine', 'worker', 'back_end', 'elsewhere'] as const;

/** Name of a stage. */
export type Stage = (typeof stages)[number];

/** Time spent in each stage, in milliseconds. */
export type StageTimes = Readonly<Record<Stage, number>>;

/** A stopwatch for stages. Times are those of performance.now(), in milliseconds. */
export class StageClock {
  readonly #ms: Record<Stage, number> = { router: 0, queue: 0, engine: 0, worker: 0, back_end: 0, elsewhere: 0 };
  #stage: Stage = 'router';
  #stageStartedAt: number;
  #handedOut = false;

  /** @param receivedAt time at which the head of the request was complete */
  constructor(receivedAt: number) {
    this.#stageStartedAt = receivedAt;
  }

  /** Start of the current stage. */
  get stageStartedAt(): number {
    return this.#stageStartedAt;
  }

  /** The current stage. */
  get stage(): Stage {
    return this.#stage;
  }

  /** Ends the current stage and begins the given one. Use the methods below for the worker's stages. */
  enter(stage: 'router' | 'queue' | 'engine', at: number): void {
    this.#change(stage, at);
  }

  /** Enters `worker`: the task was handed to a worker. */
  handedOut(at: number): void {
    this.#handedOut = true;
    this.#change('worker', at);
  }

  /**
   * Enters `engine`: the worker has reported its result.
   * @param backEndMs time spent in the back end in milliseconds, as the worker reports it
   */
  reported(at: number, backEndMs = 0): void {
    const inWorker = this.#stage === 'worker' ? Math.max(0, at - this.#stageStartedAt) : 0;
    const inBackEnd = Math.min(inWorker, Math.max(0, backEndMs));
    this.#change('engine', at);
    this.#ms.worker -= inBackEnd;
    this.#ms.back_end += inBackEnd;
  }

  /**
   * Enters `router`: the wait has ended.
   * @param hasEnded whether the execution has ended too
   */
  ended(at: number, hasEnded: boolean): void {
    // This router handed out none of the tasks of the ended execution, so another router did.
    if (hasEnded && !this.#handedOut && this.#stage === 'queue') this.#stage = 'elsewhere';
    this.#change('router', at);
  }

  /** Returns the times of all stages up to now. */
  times(at: number): StageTimes {
    this.#change(this.#stage, at);
    return { ...this.#ms };
  }

  #change(stage: Stage, at: number): void {
    this.#ms[this.#stage] += Math.max(0, at - this.#stageStartedAt);
    this.#stage = stage;
    this.#stageStartedAt = Math.max(this.#stageStartedAt, at);
  }
}

/**
 * Returns the value of `Server-Timing` (W3C Server Timing): every stage that took time, and the total, in milliseconds.
 */
export function formatServerTiming(times: StageTimes): string {
  const shown = stages.filter((stage) => times[stage] > 0);
  const total = stages.reduce((sum, stage) => sum + times[stage], 0);
  return [...shown.map((stage) => `${stage};dur=${times[stage].toFixed(1)}`), `total;dur=${total.toFixed(1)}`].join(
    ', ',
  );
}
