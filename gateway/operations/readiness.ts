// Readiness of this instance: runs the checks of all dependencies and collects the reasons why it is not ready.

import { setTimeout as pause } from 'node:timers/promises';
import type { ReadinessCheck, ReadinessNotice } from '../plugin-api/plugin-api.ts';

/** The readiness of one router, as returned by `/health/ready`. */
export interface Readiness {
  ready: boolean;
  /** Reasons why the instance is not ready, by dependency. */
  reasons: Record<string, readonly string[]>;
  /** Notices for operators, by component. They do not affect `ready`. */
  notices: Record<string, readonly string[]>;
}

/** Checks and notices of one snapshot or of one shared resource. */
export class ReadinessChecks {
  readonly #checks = new Map<string, ReadinessCheck>();
  readonly #notices = new Map<string, ReadinessNotice>();

  /**
   * Adds a check.
   * @param name name of the dependency in `/health/ready`; a later check replaces one with the same name
   */
  add(name: string, check: ReadinessCheck): void {
    this.#checks.set(name, check);
  }

  /** Adds a notice for operators, which never affects readiness. @param name name of the component */
  addNotice(name: string, notice: ReadinessNotice): void {
    this.#notices.set(name, notice);
  }

  /**
   * Runs all checks concurrently and returns their reasons; if a check rejects, the message of its error is the reason.
   */
  async reasons(): Promise<[name: string, reasons: readonly string[]][]> {
    return Promise.all(
      [...this.#checks].map(async ([name, check]): Promise<[string, readonly string[]]> => [
        name,
        await check().catch((error: Error) => [error.message]),
      ]),
    );
  }

  /** Returns the current notices of each component; an empty list for a component without any. */
  notices(): [name: string, notices: readonly string[]][] {
    return [...this.#notices].map(([name, notice]) => [name, notice()]);
  }
}

/** The readiness of the router, combined from all sources; served as `/health/ready`. */
export class RouterReadiness {
  readonly #sources: () => readonly ReadinessChecks[];
  readonly #onFirstReady: () => void;
  #wasReady = false;
  #draining = false;

  /**
   * @param sources returns the checks of the gateway host, the shared resources and the active snapshot
   * @param onFirstReady called once, when the router is ready for the first time
   */
  constructor(sources: () => readonly ReadinessChecks[], onFirstReady: () => void) {
    this.#sources = sources;
    this.#onFirstReady = onFirstReady;
  }

  /**
   * Makes every later call to `ask` report `not ready`, so that load balancers stop sending requests.
   * @param noticeMs time that load balancers need to notice, in milliseconds; default 0
   * @returns a promise that resolves after this time
   */
  async drain(noticeMs = 0): Promise<void> {
    this.#draining = true;
    if (noticeMs > 0) await pause(noticeMs);
  }

  /** Whether the router is shutting down. */
  get draining(): boolean {
    return this.#draining;
  }

  /** Runs the checks of all sources and returns the combined result. While draining, returns `not ready` at once. */
  async ask(): Promise<Readiness> {
    if (this.#draining) return { ready: false, reasons: { router: ['shutting down'] }, notices: {} };
    const sources = this.#sources();
    const results = (await Promise.all(sources.map((source) => source.reasons()))).flat();
    const reasons = Object.fromEntries(results.filter(([, found]) => found.length > 0));
    const notices = sources.flatMap((source) => source.notices()).filter(([, found]) => found.length > 0);
    const ready = Object.keys(reasons).length === 0;
    if (ready && !this.#wasReady) this.#onFirstReady();
    this.#wasReady ||= ready;
    return { ready, reasons, notices: Object.fromEntries(notices) };
  }
}
