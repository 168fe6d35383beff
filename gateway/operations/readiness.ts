// Whether this instance can serve: every dependency is asked, and each reason why not is named.

import { setTimeout as pause } from 'node:timers/promises';
import type { ReadinessCheck, ReadinessNotice } from '../plugin-api/plugin-api.ts';

export interface Readiness {
  ready: boolean;
  /** Per dependency: why it is not ready. */
  reasons: Record<string, readonly string[]>;
  /** What does not keep it from serving. */
  notices: Record<string, readonly string[]>;
}

/** Checks and notices of one configuration, or of a part that outlives it. */
export class ReadinessChecks {
  readonly #checks = new Map<string, ReadinessCheck>();
  readonly #notices = new Map<string, ReadinessNotice>();

  add(name: string, check: ReadinessCheck): void {
    this.#checks.set(name, check);
  }

  addNotice(name: string, notice: ReadinessNotice): void {
    this.#notices.set(name, notice);
  }

  /** Asks every check at the same time; one that throws is a reason. */
  async reasons(): Promise<[name: string, reasons: readonly string[]][]> {
    return Promise.all(
      [...this.#checks].map(async ([name, check]): Promise<[string, readonly string[]]> => [
        name,
        await check().catch((error: Error) => [error.message]),
      ]),
    );
  }

  notices(): [name: string, notices: readonly string[]][] {
    return [...this.#notices].map(([name, notice]) => [name, notice()]);
  }
}

/** What `/health/ready` answers: everything that can be asked at the moment, put together. */
export class RouterReadiness {
  readonly #sources: () => readonly ReadinessChecks[];
  readonly #onFirstReady: () => void;
  #wasReady = false;
  #draining = false;

  /**
   * @param sources the checks of the configuration in force and of what outlives it
   * @param onFirstReady called once, with the first answer that says ready
   */
  constructor(sources: () => readonly ReadinessChecks[], onFirstReady: () => void) {
    this.#sources = sources;
    this.#onFirstReady = onFirstReady;
  }

  /**
   * From now on the instance is not ready: a load balancer stops sending before anything is refused.
   * @param noticeMs how long a load balancer takes to notice, in milliseconds
   * @returns resolves when it has
   */
  async drain(noticeMs = 0): Promise<void> {
    this.#draining = true;
    if (noticeMs > 0) await pause(noticeMs);
  }

  async ask(): Promise<Readiness> {
    if (this.#draining) return { ready: false, reasons: { router: ['shutting down'] }, notices: {} };
    const sources = this.#sources();
    const answers = (await Promise.all(sources.map((source) => source.reasons()))).flat();
    const reasons = Object.fromEntries(answers.filter(([, found]) => found.length > 0));
    const notices = sources.flatMap((source) => source.notices()).filter(([, found]) => found.length > 0);
    const ready = Object.keys(reasons).length === 0;
    if (ready && !this.#wasReady) this.#onFirstReady();
    this.#wasReady ||= ready;
    return { ready, reasons, notices: Object.fromEntries(notices) };
  }
}
