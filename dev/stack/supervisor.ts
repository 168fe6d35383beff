// Keeps one program running: starts it, starts it again when it dies, and gives it up when it cannot stay up.

import { setTimeout as delay } from 'node:timers/promises';
import type { Child, Ending, Ready } from './child.ts';
import { decideRestart, type RestartDecision, restartPolicy, type RestartPolicy } from './restart-policy.ts';

/** A program ended although nobody stopped it. */
export interface Death {
  readonly ending: Ending;
  /** How often it has died so far. */
  readonly count: number;
  readonly decision: RestartDecision;
}

export interface SupervisorOptions {
  /** Starts one life of it. */
  readonly launch: () => Child;
  readonly onDeath: (death: Death) => void;
  /** It works again after a death. */
  readonly onReturn?: () => void;
  readonly policy?: RestartPolicy;
}

/** Watches over one program. */
export class Supervisor {
  /** Resolves when it works for the first time; rejects when it is given up or stopped before that. */
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

  /** Of the life it has now. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends it; resolves when it has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#child?.stop();
    await this.#running;
  }

  /** Ends it at once, without waiting for anything. */
  kill(): void {
    this.#stopping.abort();
    this.#child?.kill();
  }

  async #run(): Promise<void> {
    const deaths: number[] = [];
    while (!this.#stopping.signal.aborted) {
      const ending = await this.#runOnce(deaths.length > 0);
      if (this.#stopping.signal.aborted) break;
      deaths.push(performance.now());
      const decision = decideRestart(deaths, this.#options.policy ?? restartPolicy);
      this.#options.onDeath({ ending, count: deaths.length, decision });
      if (decision.action === 'give up') {
        this.#firstReady.reject(new Error('it cannot stay up'));
        return;
      }
      await delay(decision.delayMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
    }
    this.#firstReady.reject(new Error('it was stopped'));
  }

  /** One life, from start to end. */
  async #runOnce(isAgain: boolean): Promise<Ending> {
    const child = this.#options.launch();
    this.#child = child;
    child.ready.then(
      (ready) => {
        this.#firstReady.resolve(ready);
        if (isAgain) this.#options.onReturn?.();
      },
      () => {},
    );
    return child.ended;
  }
}
