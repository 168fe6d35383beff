// Splits the time of one request into stages: each moment belongs to exactly one of them.

/**
 * `router`: this process · `queue`: waiting for admission, then for a worker · `engine`: the calls that start the
 * execution and report its result · `worker`: from hand-out to result, without `back_end`: what the worker says its back
 * end took · `elsewhere`: an execution whose task went through another router.
 */
export const stages = ['router', 'queue', 'engine', 'worker', 'back_end', 'elsewhere'] as const;

export type Stage = (typeof stages)[number];

export type StageTimes = Readonly<Record<Stage, number>>;

/** Times are those of performance.now(), in milliseconds. */
export class StageClock {
  readonly #ms: Record<Stage, number> = { router: 0, queue: 0, engine: 0, worker: 0, back_end: 0, elsewhere: 0 };
  #stage: Stage = 'router';
  #since: number;
  #handedOut = false;

  /** @param receivedAt when the request's head had arrived */
  constructor(receivedAt: number) {
    this.#since = receivedAt;
  }

  /** When the present stage began. */
  get since(): number {
    return this.#since;
  }

  get stage(): Stage {
    return this.#stage;
  }

  /** The request waits from now on for a place, a task, an answer. */
  enter(stage: 'router' | 'queue' | 'engine', at: number): void {
    this.#change(stage, at);
  }

  /** A task has left for a worker. */
  handedOut(at: number): void {
    this.#handedOut = true;
    this.#change('worker', at);
  }

  /** Its result has come. @param backEndMs what of the time was the back end's, by the worker's own account */
  reported(at: number, backEndMs = 0): void {
    const inWorker = this.#stage === 'worker' ? Math.max(0, at - this.#since) : 0;
    const inBackEnd = Math.min(inWorker, Math.max(0, backEndMs));
    this.#change('engine', at);
    this.#ms.worker -= inBackEnd;
    this.#ms.back_end += inBackEnd;
  }

  /** The wait is over. @param hasEnded whether the execution is, too */
  ended(at: number, hasEnded: boolean): void {
    // It has ended and nothing of it came through here.
    if (hasEnded && !this.#handedOut && this.#stage === 'queue') this.#stage = 'elsewhere';
    this.#change('router', at);
  }

  /** All of it up to now. */
  times(at: number): StageTimes {
    this.#change(this.#stage, at);
    return { ...this.#ms };
  }

  #change(stage: Stage, at: number): void {
    this.#ms[this.#stage] += Math.max(0, at - this.#since);
    this.#stage = stage;
    this.#since = Math.max(this.#since, at);
  }
}

/** The value of `Server-Timing` (W3C Server Timing): every stage that took time, in milliseconds, and the whole. */
export function formatServerTiming(times: StageTimes): string {
  const shown = stages.filter((stage) => times[stage] > 0);
  const total = stages.reduce((sum, stage) => sum + times[stage], 0);
  return [...shown.map((stage) => `${stage};dur=${times[stage].toFixed(1)}`), `total;dur=${total.toFixed(1)}`].join(
    ', ',
  );
}
