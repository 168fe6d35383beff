// Whether this instance can serve: every dependency is asked, and each reason why not is named.

import { setTimeout as pause } from 'node:timers/promises';
import type { ReadinessCheck, ReadinessNotice } from '../contract.ts';

export interface Readiness {
  ready: boolean;
  /** Per dependency: why it is not ready. */
  reasons: Record<string, readonly string[]>;
  /** What does not keep it from serving. */
  notices: Record<string, readonly string[]>;
}

/** The checks that plugins register. */
export class ReadinessChecks {
  readonly #checks = new Map<string, ReadinessCheck>();
  readonly #notices = new Map<string, ReadinessNotice>();
  #draining = false;

  add(name: string, check: ReadinessCheck): void {
    this.#checks.set(name, check);
  }

  addNotice(name: string, notice: ReadinessNotice): void {
    this.#notices.set(name, notice);
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

  /** Asks every dependency at the same time. A check that throws is a reason. */
  async ask(): Promise<Readiness> {
    if (this.#draining) return { ready: false, reasons: { router: ['shutting down'] }, notices: {} };
    const answers = await Promise.all(
      [...this.#checks].map(
        async ([name, check]) => [name, await check().catch((error: Error) => [error.message])] as const,
      ),
    );
    const reasons = Object.fromEntries(answers.filter(([, found]) => found.length > 0));
    const notices = [...this.#notices].map(([name, notice]) => [name, notice()] as const);
    return {
      ready: Object.keys(reasons).length === 0,
      reasons,
      notices: Object.fromEntries(notices.filter(([, found]) => found.length > 0)),
    };
  }
}
