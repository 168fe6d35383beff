// Supervises one program: starts it, restarts it after a crash, and gives up according to the restart policy.

import { setTimeout as delay } from 'node:timers/promises';
import type { Child, Ending, Ready } from './child.ts';
import { decideRestart, type RestartDecision, restartPolicy, type RestartPolicy } from './restart-policy.ts';

/** A crash: the program ended without being stopped. */
export interface Crash {
  readonly ending: Ending;
  /** Number of crashes so far, including this one. */
  readonly count: number;
  readonly decision: RestartDecision;
}

/** How to start the program, and the functions to call when it crashes or recovers. */
export interface SupervisorOptions {
  /** Starts the program. */
  readonly launch: () => Child;
  readonly onCrash: (crash: Crash) => void;
  /** Called when the program is ready again after a crash. */
  readonly onRecovery?: () => void;
  readonly policy?: RestartPolicy;
}

/** The supervisor of one program. */
export class Supervisor {
  /**
   * Resolves when the program is ready for the first time; rejects when the supervisor gives up or is stopped first.
   */
  readonly ready: Promise<Ready>;
  readonly #options: SupervisorOptions;
  readonly #firstReady = Promise.withResolvers<Ready>();
  readonly #stopping = new AbortController();
  #child: Child | undefined;
  #running: Promise<void> | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.ready = this.#firstReady.promise;
    this.ready.catch(() => {});
  }

  /** Process id of the program's most recently started process. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts the program. Further calls do nothing. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Stops the program; resolves when it has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#child?.stop();
    await this.#running;
  }

  /** Kills the program without waiting. */
  kill(): void {
    this.#stopping.abort();
    this.#child?.kill();
  }

  async #run(): Promise<void> {
    const crashes: number[] = [];
    while (!this.#stopping.signal.aborted) {
      const ending = await this.#runOnce(crashes.length > 0);
      if (this.#stopping.signal.aborted) break;
      crashes.push(performance.now());
      const decision = decideRestart(crashes, this.#options.policy ?? restartPolicy);
      this.#options.onCrash({ ending, count: crashes.length, decision });
      if (decision.action === 'give up') {
        this.#firstReady.reject(new Error('the program kept crashing'));
        return;
      }
      await delay(decision.delayMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
    }
    this.#firstReady.reject(new Error('the program was stopped'));
  }

  /** Runs the program until it ends. A program that cannot be started, or is not ready in time, counts as crashed. */
  async #runOnce(isRestart: boolean): Promise<Ending> {
    let child: Child;
    try {
      child = this.#options.launch();
    } catch (error) {
      return { code: null, signal: null, error: error as Error };
    }
    this.#child = child;
    let hasEnded = false;
    let late: Error | undefined;
    void child.ended.then(() => (hasEnded = true));
    child.ready.then(
      (ready) => {
        this.#firstReady.resolve(ready);
        if (isRestart) this.#options.onRecovery?.();
      },
      (error: Error) => {
        if (hasEnded || this.#stopping.signal.aborted) return;
        late = error;
        void child.stop();
      },
    );
    const ending = await child.ended;
    return late === undefined ? ending : { ...ending, error: late };
  }
}
